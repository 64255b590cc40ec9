/**
 * What a stranger's server said, to be stored and shown: some databases take no NUL, and what a terminal would obey is
 * nothing that a stranger should say to it. Lines stay lines.
 */
export function withoutControls(text: string): string {
  return text.replace(/[^\P{Cc}\n]/gu, '\ufffd');
}
