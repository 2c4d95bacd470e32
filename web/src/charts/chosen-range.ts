/** Whether a text of the address is a point in time. */
export function isTime(text: string | undefined): text is string {
  return text !== undefined && !Number.isNaN(Date.parse(text));
}

const TIME = new Intl.DateTimeFormat('en', { dateStyle: 'medium', timeStyle: 'short' });

/** A stretch of time that a brush has chosen, such as `Nov 27, 2026, 10:00 – 10:30 AM`. */
export function rangeInWords(from: string, to: string): string {
  return TIME.formatRange(new Date(from), new Date(to));
}
