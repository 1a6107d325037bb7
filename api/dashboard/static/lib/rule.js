// Splits rules for highlighting.

const pattern = /(`[^`]*`|"(?:[^"\\]|\\.)*")|(&&|\|\||!)|([A-Za-z]\w*)(?=\s*\()|([(),])|(\s+)|([^\s`"&|!(),A-Za-z]+|.)/gs;

/** tokens splits a rule into {kind, text}: value, operator, matcher, mark, space or other. Concatenated, they are the rule. */
export function tokens(rule) {
  const kinds = ['value', 'operator', 'matcher', 'mark', 'space', 'other'];
  return [...rule.matchAll(pattern)].map((match) => ({ kind: kinds[match.slice(1).findIndex((group) => group !== undefined)], text: match[0] }));
}

/** example guesses a request that matches a rule: the first host and path in it. */
export function example(rule, secure) {
  const first = (names) => new RegExp(`(?<![!\\w]\\s*)\\b(?:${names})\\(\\s*[\`"]([^\`"]+)[\`"]`).exec(rule)?.[1];
  const host = first('Host') ?? 'example.com';
  let path = first('Path|PathPrefix') ?? '/';
  if (!path.startsWith('/')) path = `/${path}`;
  const method = first('Method') ?? 'GET';
  return { method, url: `${secure ? 'https' : 'http'}://${host}${path.replace(/[{}*[\]()^$]/g, '')}` };
}
