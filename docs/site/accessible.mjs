// Corrects the components of VitePress's theme that assistive technology cannot use.

/** edits are the texts that are replaced in a component. */
const edits = {
  // The heading of a part was a button even where nothing can be folded, and held a second button.
  'VPSidebarItem.vue': [
    ["(isLink.value ? undefined : 'button')", "(collapsible.value && !isLink.value ? 'button' : undefined)"],
    [':tabindex="item.items && 0"', ':tabindex="collapsible ? 0 : undefined" :aria-expanded="collapsible ? !collapsed : undefined"'],
    ['role="button"\n        aria-label="toggle section"', 'aria-hidden="true"'],
    ['        tabindex="0"\n', ''],
  ],
  // The name of the button did not contain the text in it.
  'VPNavBarSearchButton.vue': [
    ['      <kbd class="DocSearch-Button-Key"></kbd>\n      <kbd class="DocSearch-Button-Key">K</kbd>', '      <kbd class="search-key">Ctrl K</kbd>'],
    ['</span>\n    <span class="DocSearch-Button-Keys">', '</span>{{ " " }}<span class="DocSearch-Button-Keys">'],
  ],
};

/** accessible is a plugin of Vite. It fails the build when a component is not as it expects. */
export function accessible() {
  return {
    name: 'accessible',
    enforce: 'pre',
    transform(code, id) {
      const name = Object.keys(edits).find((one) => id.endsWith(`/theme-default/components/${one}`));
      return name && edits[name].reduce((text, [before, after]) => {
        if (!text.includes(before)) this.error(`${name} has no ${before}`);
        return text.replace(before, after);
      }, code);
    },
  };
}
