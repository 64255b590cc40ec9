/** Searches bytes for many texts at once: compares only where four bytes match the start of a text. */
export interface SecretSearch {
  add(secret: Secret): void;
  /** The secrets that were found, each once. */
  find(bytes: Uint8Array): Found[];
  readonly size: number;
}

export interface Secret {
  kind: string;
  text: string;
}

export interface Found extends Secret {
  /** The encoding in which it was found. */
  form: string;
}

interface Pattern {
  found: Found;
  bytes: Buffer;
}

const FILTER_BITS = 20;

export function createSecretSearch(): SecretSearch {
  const filter = new Uint8Array(1 << FILTER_BITS);
  const patterns = new Map<number, Pattern[]>();
  const known = new Set<string>();

  function addPattern(pattern: Pattern): void {
    const start = pattern.bytes.readUInt32BE(0);
    filter[filterIndex(start)] = 1;
    const alike = patterns.get(start);
    if (alike) alike.push(pattern);
    else patterns.set(start, [pattern]);
  }

  return {
    get size() {
      return known.size;
    },
    add(secret) {
      if (known.has(secret.text)) return;
      known.add(secret.text);
      for (const [form, bytes] of encodingsOf(secret.text)) addPattern({ bytes, found: { ...secret, form } });
    },
    find(bytes) {
      const hits = new Map<string, Found>();
      let start = 0;
      for (let end = 0; end < bytes.length; end++) {
        start = ((start << 8) | (bytes[end] ?? 0)) >>> 0;
        if (end < 3 || filter[filterIndex(start)] === 0) continue;
        for (const pattern of patterns.get(start) ?? []) {
          if (matchesAt(bytes, end - 3, pattern.bytes)) hits.set(pattern.found.text, pattern.found);
        }
      }
      return [...hits.values()];
    },
  };
}

function filterIndex(start: number): number {
  return Math.imul(start, 0x9e3779b1) >>> (32 - FILTER_BITS);
}

function matchesAt(bytes: Uint8Array, at: number, pattern: Buffer): boolean {
  if (at + pattern.length > bytes.length) return false;
  for (let i = 4; i < pattern.length; i++) if (bytes[at + i] !== pattern[i]) return false;
  return true;
}

/** The encodings of a text: literal, without its prefix, encoded again, or decoded to bytes. */
function encodingsOf(text: string): [form: string, bytes: Buffer][] {
  const body = text.replace(/^(?:g[a-z]{2}|whsec)_/, '');
  const raw = /^[\w+/-]{20,}=*$/.test(body) ? Buffer.from(body, 'base64') : undefined;
  const forms: [form: string, bytes: Buffer][] = [
    ['as it is', Buffer.from(body)],
    ['in an address', Buffer.from(encodeURIComponent(body))],
    ['in a form', Buffer.from(`${new URLSearchParams({ x: body })}`.slice(2))],
    // Without the last characters, which depend on what follows.
    ['in base64', Buffer.from(Buffer.from(text).toString('base64').slice(0, -4))],
    ['in hexadecimal', Buffer.from(Buffer.from(body).toString('hex'))],
    ...(raw
      ? ([
          ['as bytes', raw],
          ['as bytes in hexadecimal', Buffer.from(raw.toString('hex'))],
        ] as [string, Buffer][])
      : []),
  ];
  const seen = new Set<string>();
  return forms.filter(([, bytes]) => {
    const isNew = bytes.length >= 8 && !seen.has(bytes.toString('latin1'));
    seen.add(bytes.toString('latin1'));
    return isNew;
  });
}
