import { Cron } from 'croner';

const MONTHS = 'JAN|FEB|MAR|APR|MAY|JUN|JUL|AUG|SEP|OCT|NOV|DEC';
const DAYS = 'SUN|MON|TUE|WED|THU|FRI|SAT';
/** Without the extensions of croner, such as `L`, `W`, `#`, and nicknames. */
const FIELD = new RegExp(
  `^(?:item(?:-item)?|\\*)(?:/\\d{1,2})?(?:,(?:item(?:-item)?|\\*)(?:/\\d{1,2})?)*$`.replaceAll(
    'item',
    `(?:\\d{1,2}|${MONTHS}|${DAYS})`,
  ),
  'i',
);
/** A name of the IANA database; offsets such as `+01:00` are not names. */
const ZONE = /^[A-Za-z][A-Za-z0-9_+/-]{0,63}$/;

/** Why a schedule has no times. The message is a sentence for people. */
export class CronError extends Error {
  override readonly name = 'CronError';

  constructor(
    readonly field: 'cron' | 'timezone',
    message: string,
    options?: ErrorOptions,
  ) {
    super(message, options);
  }
}

/**
 * The first time of a cron expression after a moment. A local time that does not exist is replaced by the next one that
 * does, and of a local time that exists twice only the first counts; expressions that repeat each hour (`*` as hour) go
 * on through both hours.
 * @param cron five fields: minute, hour, day of month, month, day of week
 * @param timezone a name of the IANA database
 * @throws CronError
 */
export function nextTime(cron: string, timezone: string, after: Date): Date {
  requireZone(timezone);
  const fields = cron.trim().split(/\s+/);
  if (fields.length !== 5) {
    throw new CronError('cron', 'Must have five fields: minute, hour, day of month, month and day of week.');
  }
  if (!fields.every((field) => FIELD.test(field))) throw new CronError('cron', 'Must be a cron expression.');
  const next = parse(fields.join(' '), timezone).nextRun(after);
  if (next === null) throw new CronError('cron', 'The time of this expression never comes.');
  return next;
}

function requireZone(timezone: string): void {
  try {
    if (!ZONE.test(timezone)) throw new RangeError('Not a name.');
    Intl.DateTimeFormat('en', { timeZone: timezone });
  } catch (cause) {
    throw new CronError('timezone', 'Must be a time zone of the IANA database, such as Europe/Berlin.', { cause });
  }
}

function parse(cron: string, timezone: string): Cron {
  try {
    return new Cron(cron, { timezone, mode: '5-part', paused: true });
  } catch (cause) {
    throw new CronError('cron', 'Must be a cron expression.', { cause });
  }
}
