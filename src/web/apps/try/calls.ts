/** A part of a request that is shown by its name alone. What it stands for is known only where the request is sent. */
interface Hidden {
  hidden: HiddenName;
}

export type HiddenName = 'CLIENT_SECRET' | 'ACCESS_TOKEN' | 'REFRESH_TOKEN';

type Part = string | Hidden;

/** One request to our own API. */
export interface Call {
  method: 'GET' | 'POST';
  url: string;
  headers: [name: string, value: Part[]][];
  /** Sent as JSON. */
  body?: Record<string, Part>;
}

export const clientSecret: Hidden = { hidden: 'CLIENT_SECRET' };
export const refreshToken: Hidden = { hidden: 'REFRESH_TOKEN' };
const accessToken: Hidden = { hidden: 'ACCESS_TOKEN' };

export function post(url: string, body: Record<string, Part>): Call {
  return { method: 'POST', url, headers: [['Content-Type', ['application/json']]], body };
}

export function getWithToken(url: string, more: Call['headers'] = []): Call {
  return { method: 'GET', url, headers: [['Authorization', ['Bearer ', accessToken]], ...more] };
}

/** What the request looks like on the wire. */
export function requestText({ method, url, headers, body }: Call): string {
  const lines = headers.map(([name, value]) => `${name}: ${value.map(named).join('')}`);
  return [`${method} ${url}`, ...lines, ...(body ? ['', bodyParts(body).map(named).join('')] : [])].join('\n');
}

/** The same for a shell, in which the names are variables. */
export function curlText({ method, url, headers, body }: Call): string {
  const words = [
    `curl -i ${method === 'GET' ? '' : `-X ${method} `}${quoted(url)}`,
    ...headers.map(([name, value]) => `-H ${inShell([`${name}: `, ...value])}`),
    ...(body ? [`-d ${inShell(bodyParts(body))}`] : []),
  ];
  return words.join(' \\\n  ');
}

export function exportText(variables: Partial<Record<HiddenName, string>>): string {
  const lines = Object.entries(variables).map(([name, value]) => `export ${name}=${quoted(value)}`);
  return lines.join('\n');
}

/** JSON, with gaps where something is hidden. */
function bodyParts(body: Record<string, Part>): Part[] {
  const fields = Object.entries(body).map(([name, value]): Part[] => {
    const label = `  ${JSON.stringify(name)}: `;
    return typeof value === 'string' ? [label + JSON.stringify(value)] : [`${label}"`, value, '"'];
  });
  return ['{\n', ...fields.flatMap((field, place) => (place === 0 ? field : [',\n', ...field])), '\n}'];
}

function named(part: Part): string {
  return typeof part === 'string' ? part : `$${part.hidden}`;
}

/** One word: a shell joins what stands side by side in different quotes. */
function inShell(parts: Part[]): string {
  const word = parts.map((part) => (typeof part === 'string' ? escaped(part) : `'"$${part.hidden}"'`)).join('');
  // A word that ends with a variable needs no empty quotes behind it.
  return typeof parts.at(-1) === 'string' ? `'${word}'` : `'${word.slice(0, -1)}`;
}

function quoted(text: string): string {
  return `'${escaped(text)}'`;
}

/** In single quotes a shell leaves everything as it is, but for the single quote itself. */
function escaped(text: string): string {
  return text.replaceAll("'", "'\\''");
}
