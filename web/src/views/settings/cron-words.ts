const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;
const DAY_NAMES = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;
const MONTH_NAMES = MONTHS.map((month) => month.slice(0, 3).toLowerCase());
const NUMBER = /^\d{1,2}$/;

/**
 * A cron expression as a sentence, such as "Every Monday to Friday at 09:00". Undefined for one that does not have five
 * fields.
 */
export function cronInWords(cron: string): string | undefined {
  const fields = cron.trim().split(/\s+/);
  const [minute, hour, dayOfMonth, month, dayOfWeek] = fields;
  if (fields.length !== 5 || !minute || !hour || !dayOfMonth || !month || !dayOfWeek) return undefined;
  const days = daysInWords(dayOfMonth, dayOfWeek);
  const months = month === '*' ? '' : ` in ${listInWords(month, (part) => nameOf(part, MONTH_NAMES, MONTHS, 1))}`;
  const time = timeInWords(minute, hour);
  return `${days === undefined ? time.alone : `${days} ${time.within}`}${months}`;
}

/** The time of day: as a sentence of its own, and after a day. */
function timeInWords(minute: string, hour: string): { alone: string; within: string } {
  if (NUMBER.test(minute) && hour.split(',').every((part) => NUMBER.test(part))) {
    const times = joined(hour.split(',').map((part) => `${part.padStart(2, '0')}:${minute.padStart(2, '0')}`));
    return { alone: `Every day at ${times}`, within: `at ${times}` };
  }
  const often = minutesInWords(minute);
  if (hour === '*') return { alone: capital(often), within: often };
  const step = /^\*\/(\d{1,2})$/.exec(hour)?.[1];
  const when = step ? `in every ${ordinal(Number(step))} hour` : `in the hours ${listInWords(hour, hourInWords)}`;
  return { alone: `${capital(often)}, ${when}`, within: `${often}, ${when}` };
}

function minutesInWords(minute: string): string {
  if (minute === '*') return 'every minute';
  const step = /^\*\/(\d{1,2})$/.exec(minute)?.[1];
  if (step) return `every ${step} minutes`;
  if (minute === '0') return 'every hour, on the hour';
  return `every hour at minute ${listInWords(minute, (part) => part)}`;
}

function daysInWords(dayOfMonth: string, dayOfWeek: string): string | undefined {
  const week =
    dayOfWeek === '*' ? undefined : `Every ${listInWords(dayOfWeek, (part) => nameOf(part, DAY_NAMES, DAYS, 0))}`;
  const step = /^\*\/(\d{1,2})$/.exec(dayOfMonth)?.[1];
  const inMonth =
    dayOfMonth === '*'
      ? undefined
      : step
        ? `Every ${step} days of the month`
        : `On day ${listInWords(dayOfMonth, (part) => part)} of the month`;
  // Cron fires when either of them matches.
  if (week !== undefined && inMonth !== undefined) return `${inMonth}, and e${week.slice(1)},`;
  return week ?? inMonth;
}

/** `1-5,7` → "Monday to Friday and Sunday". */
function listInWords(field: string, wordOf: (part: string) => string): string {
  return joined(
    field.split(',').map((part) => {
      const [range = '', step] = part.split('/');
      const words = range === '*' ? 'any' : range.split('-').map(wordOf).join(' to ');
      return step === undefined ? words : `${words} in steps of ${step}`;
    }),
  );
}

function nameOf(part: string, short: readonly string[], long: readonly string[], first: number): string {
  const index = NUMBER.test(part) ? Number(part) - first : short.indexOf(part.toLowerCase());
  // Sunday is 0 and 7.
  return long[first === 0 ? index % 7 : index] ?? part;
}

function hourInWords(part: string): string {
  return `${part.padStart(2, '0')}:00`;
}

function joined(words: readonly string[]): string {
  return words.length < 2 ? words.join('') : `${words.slice(0, -1).join(', ')} and ${words.at(-1)}`;
}

function capital(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}`;
}

function ordinal(value: number): string {
  const [one, two, three] = ['st', 'nd', 'rd'];
  const suffix = value % 100 > 10 && value % 100 < 14 ? 'th' : ({ 1: one, 2: two, 3: three }[value % 10] ?? 'th');
  return `${value}${suffix}`;
}
