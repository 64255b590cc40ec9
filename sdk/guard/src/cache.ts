/** A value, and until when it may be used, in milliseconds since 1970. */
export interface Loaded<Value> {
  value: Value;
  until: number;
}

export interface Cache<Value> {
  /** Concurrent calls with one key share one load. A load that fails is not cached. */
  get(key: string, load: () => Promise<Loaded<Value>>): Promise<Value>;
}

interface Entry<Value> {
  value: Promise<Value>;
  until: number;
}

/** Once there are too many entries, the oldest is removed. */
export function createCache<Value>(maxEntries: number, clock: () => number): Cache<Value> {
  const entries = new Map<string, Entry<Value>>();

  function add(key: string, load: () => Promise<Loaded<Value>>): Entry<Value> {
    const loading = load();
    const entry: Entry<Value> = { value: loading.then(({ value }) => value), until: Number.POSITIVE_INFINITY };
    // A Map iterates in the order of insertion, so an entry that is loaded again moves to the end.
    entries.delete(key);
    entries.set(key, entry);
    const [oldest] = entries.keys();
    if (entries.size > maxEntries && oldest !== undefined) entries.delete(oldest);
    loading.then(
      ({ until }) => {
        entry.until = until;
      },
      () => {
        if (entries.get(key) === entry) entries.delete(key);
      },
    );
    return entry;
  }

  return {
    get(key, load) {
      const known = entries.get(key);
      return (known && clock() < known.until ? known : add(key, load)).value;
    },
  };
}

/** The keys contain no tokens. */
export async function hashKey(...parts: string[]): Promise<string> {
  const bytes = new TextEncoder().encode(parts.join('\n'));
  return String.fromCharCode(...new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)));
}
