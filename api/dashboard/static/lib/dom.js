// Builds elements. Texts become text nodes, so that no text becomes markup.

const vocabulary = 'http://www.w3.org/2000/svg';

function fill(node, properties, children) {
  for (const [name, value] of Object.entries(properties ?? {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name === 'on') {
      for (const [event, handler] of Object.entries(value)) node.addEventListener(event, handler);
    } else if (name === 'vars') {
      for (const [key, amount] of Object.entries(value)) node.style.setProperty(key, amount);
    } else {
      node.setAttribute(name, value === true ? '' : value);
    }
  }
  node.append(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** el builds an HTML element; properties are attributes, handlers below `on` and CSS variables below `vars`. */
export function el(tag, properties, ...children) {
  return fill(document.createElement(tag), properties, children);
}

/** svg builds an SVG element likewise. */
export function svg(tag, properties, ...children) {
  return fill(document.createElementNS(vocabulary, tag), properties, children);
}

/** replace replaces the children of a node. */
export function replace(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}

/** renew replaces the children of a node and keeps the focus on the same link or button, by its index. */
export function renew(node, ...children) {
  const doors = () => [...node.querySelectorAll('a, button')];
  const focused = doors().indexOf(document.activeElement);
  replace(node, ...children);
  if (focused >= 0) doors()[focused]?.focus({ preventScroll: true });
  return node;
}

/** write sets the text of a node if it differs. */
export function write(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

const shapes = {
  good: [['circle', { cx: 8, cy: 8, r: 4 }]],
  warn: [['path', { d: 'M8 2.6 14.2 13.4H1.8Z' }], ['path', { d: 'M8 6.4v3.2M8 11.4v.4', class: 'mark' }]],
  bad: [['rect', { x: 2.6, y: 2.6, width: 10.8, height: 10.8, rx: 2.2, transform: 'rotate(45 8 8)' }], ['path', { d: 'M6 6l4 4M10 6l-4 4', class: 'mark' }]],
  idle: [['circle', { cx: 8, cy: 8, r: 3.4, class: 'open' }]],
};

/** sign draws a state, with a shape for each tone, so that it is readable without colour. */
export function sign(tone) {
  return svg('svg', { class: `sign ${tone}`, viewBox: '0 0 16 16', 'aria-hidden': 'true' },
    ...(shapes[tone] ?? shapes.idle).map(([tag, attributes]) => svg(tag, attributes)));
}

const icons = {
  search: 'M7 12.5a5.5 5.5 0 1 1 0-11 5.5 5.5 0 0 1 0 11zM11 11l3.5 3.5',
  lock: 'M4 7.5h8v6H4zM5.5 7.5V5a2.5 2.5 0 0 1 5 0v2.5',
  theme: 'M8 2a6 6 0 1 0 0 12zM8 2a6 6 0 0 1 0 12',
  keys: 'M1.5 4h13v8.5h-13zM4 6.7h.1M6.7 6.7h.1M9.4 6.7h.1M12 6.7h.1M5 9.8h6',
  close: 'M4 4l8 8M12 4l-8 8',
  down: 'M4 6.5 8 10.5 12 6.5',
  up: 'M4 9.5 8 5.5 12 9.5',
  next: 'M6.5 4l4 4-4 4',
  back: 'M9.5 4l-4 4 4 4',
  copy: 'M5.5 5.5v-3h8v8h-3M2.5 5.5h8v8h-8z',
};

/** icon draws a line icon. */
export function icon(name) {
  return svg('svg', { class: 'icon', viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: icons[name] }));
}

/** copying is a button that copies a text to the clipboard. */
export function copying(text, label) {
  const button = el('button', { class: 'quiet tiny', type: 'button', title: `Copy ${label}`, 'aria-label': `Copy ${label}` }, icon('copy'));
  button.addEventListener('click', async (event) => {
    event.stopPropagation();
    try {
      await navigator.clipboard.writeText(text);
      button.classList.add('done');
    } catch {
      button.classList.add('failed');
    }
    setTimeout(() => button.classList.remove('done', 'failed'), 900);
  });
  return button;
}
