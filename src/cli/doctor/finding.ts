/** What the doctor found out about one thing. It never holds a secret. */
export interface Finding {
  level: 'ok' | 'warning' | 'problem';
  about: 'settings' | 'clock' | 'database' | 'keys' | 'addresses';
  says: string;
  /** What to do about it. */
  mend?: string;
}

/** The findings about one thing. */
export function about(name: Finding['about']) {
  return {
    ok: (says: string): Finding => ({ level: 'ok', about: name, says }),
    warning: (says: string, mend: string): Finding => ({ level: 'warning', about: name, says, mend }),
    problem: (says: string, mend: string): Finding => ({ level: 'problem', about: name, says, mend }),
  };
}

export function sentenceOf(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return (message || code || String(error)).split('\n')[0]?.replace(/\.$/, '') ?? '';
}
