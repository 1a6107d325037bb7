// Client of the API, which is served beside the dashboard below the same base path.

const base = new URL('../api/', document.baseURI);

/** Failure is a failed request; status is the HTTP status, or 0 without a response. */
export class Failure extends Error {
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** address returns the URL of a path of the API; parameters may be lists, empty ones are left out. */
export function address(path, parameters = {}) {
  const url = new URL(path, base);
  for (const [name, value] of Object.entries(parameters)) {
    for (const one of Array.isArray(value) ? value : [value]) {
      if (one !== undefined && one !== null && one !== '') url.searchParams.append(name, one);
    }
  }
  return url;
}

async function read(response) {
  try {
    return await response.json();
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    return undefined;
  }
}

/** ask returns the JSON of a response. With `also`, a 503 with JSON is accepted too. */
export async function ask(path, { parameters, signal, also = [] } = {}) {
  return (await page(path, { parameters, signal, also })).data;
}

/** page returns the JSON of one page of a list, the number of the next one (0 after the last), and the total. */
export async function page(path, { parameters, signal, also = [] } = {}) {
  let response;
  try {
    response = await fetch(address(path, parameters), { signal, headers: { Accept: 'application/json' } });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new Failure(0, 'No connection to Sluice.');
  }
  const data = await read(response);
  if (data === undefined || (!response.ok && !also.includes(response.status))) throw refused(response, data);
  const next = Number(response.headers.get('X-Next-Page') ?? 1);
  return { data, next: next > Number(parameters?.page ?? 1) ? next : 0, total: Number(response.headers.get('X-Total-Count') ?? data?.length ?? 0) };
}

const refused = (response, data) => new Failure(response.status, sentence(data?.message) ?? `The API responded with ${response.status}.`);

/** refusal returns why the API does not open a stream, or undefined if it does open it. The stream is closed at once. */
export async function refusal(path, { parameters, signal } = {}) {
  const own = new AbortController();
  try {
    const response = await fetch(address(path, parameters), { signal: AbortSignal.any([own.signal, signal]), headers: { Accept: 'application/json' } });
    return response.ok ? undefined : refused(response, await read(response));
  } catch {
    return new Failure(0, 'No connection to Sluice.');
  } finally {
    own.abort();
  }
}

function sentence(text) {
  if (!text) return undefined;
  return text[0].toUpperCase() + text.slice(1) + (/[.!?]$/.test(text) ? '' : '.');
}

/** named is the path of one object. */
export const named = (list, name) => `${list}/${encodeURIComponent(name)}`;

/** all reads the pages of a list, up to `most` elements; more reports whether there are others, total is their number. */
export async function all(path, { parameters, signal, most = 1000 } = {}) {
  const list = [];
  let total = 0;
  for (let next = 1; next > 0 && list.length < most;) {
    const answer = await page(path, { parameters: { ...parameters, page: next, per_page: Math.min(most, 500) }, signal });
    list.push(...answer.data);
    ({ next, total } = answer);
    if (next === 0) return { list, more: false, total };
  }
  return { list: list.slice(0, most), more: true, total };
}
