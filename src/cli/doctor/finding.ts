/** The result of one check. Contains no secrets. */
export interface Finding {
  level: 'ok' | 'warning' | 'problem';
  about: 'settings' | 'clock' | 'database' | 'keys' | 'mail' | 'addresses';
  message: string;
  /** How to fix it; undefined for `ok`. */
  fix?: string;
}

export function findingsAbout(about: Finding['about']) {
  return {
    ok: (message: string): Finding => ({ level: 'ok', about, message }),
    warning: (message: string, fix: string): Finding => ({ level: 'warning', about, message, fix }),
    problem: (message: string, fix: string): Finding => ({ level: 'problem', about, message, fix }),
  };
}

/** The first line, without a full stop. */
export function errorMessage(error: unknown): string {
  const { code, message } = error as { code?: string; message?: string };
  return (message || code || String(error)).split('\n')[0]?.replace(/\.$/, '') ?? '';
}
