const UTC = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?Z$/;

/** Whether it is a time as the API has it: ISO 8601 text, in UTC. */
export function isTime(value: unknown): value is string {
  return typeof value === 'string' && UTC.test(value) && !Number.isNaN(Date.parse(value));
}

/** Milliseconds until a time; negative if it has passed. */
export function timeUntil(time: string): number {
  return Date.parse(time) - Date.now();
}

/** From milliseconds since 1970; undefined if the year has not four digits. */
export function formatTime(milliseconds: number): string | undefined {
  const text: unknown = new Date(milliseconds).toJSON();
  return isTime(text) ? text : undefined;
}
