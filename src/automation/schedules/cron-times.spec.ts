import { describe, expect, it } from '@jest/globals';
import { CronError, nextTime } from './cron-times.js';

function timesFrom(start: string, cron: string, timezone: string, count: number): string[] {
  const times: string[] = [];
  for (let after = new Date(start); times.length < count; after = new Date(times.at(-1) as string)) {
    times.push(nextTime(cron, timezone, after).toISOString());
  }
  return times.map((time) => time.replace(':00.000Z', 'Z'));
}

describe('nextTime', () => {
  it.each([
    // In March, the hour after 02:00 (Berlin and New York) does not exist.
    ['30 2 * * *', 'Europe/Berlin', '2027-03-27T12:00Z', ['2027-03-28T01:00Z', '2027-03-29T00:30Z']],
    ['30 2 * * *', 'America/New_York', '2027-03-13T12:00Z', ['2027-03-14T07:00Z', '2027-03-15T06:30Z']],
    ['0 2,3 * * *', 'Europe/Berlin', '2027-03-27T12:00Z', ['2027-03-28T01:00Z', '2027-03-29T00:00Z']],
    // In autumn, the hour after 02:00 (Berlin) or 01:00 (New York) exists twice.
    ['30 2 * * *', 'Europe/Berlin', '2027-10-30T12:00Z', ['2027-10-31T00:30Z', '2027-11-01T01:30Z']],
    ['30 1 * * *', 'America/New_York', '2027-11-06T12:00Z', ['2027-11-07T05:30Z', '2027-11-08T06:30Z']],
    // Each hour, also through both.
    [
      '0 * * * *',
      'Europe/Berlin',
      '2027-10-30T23:30Z',
      ['2027-10-31T00:00Z', '2027-10-31T01:00Z', '2027-10-31T02:00Z'],
    ],
    ['0 0 * * *', 'Africa/Cairo', '2027-04-29T12:00Z', ['2027-04-29T22:00Z', '2027-04-30T21:00Z']],
    ['0 9 * * MON-FRI', 'UTC', '2027-01-01T10:00Z', ['2027-01-04T09:00Z', '2027-01-05T09:00Z']],
    ['*/20 8-9 1,15 JAN *', 'UTC', '2027-01-01T08:30Z', ['2027-01-01T08:40Z', '2027-01-01T09:00Z']],
    ['0 0 29 2 *', 'UTC', '2027-01-01T00:00Z', ['2028-02-29T00:00Z', '2032-02-29T00:00Z']],
  ])('finds the times of %s in %s', (cron, timezone, start, times) => {
    expect(timesFrom(start, cron, timezone, times.length)).toEqual(times);
  });

  it('is always later', () => {
    expect(timesFrom('2027-01-01T00:00Z', '0 0 * * *', 'UTC', 1)).toEqual(['2027-01-02T00:00Z']);
  });

  it.each([
    ['* * * * * *', 'five fields'],
    ['@reboot', 'five fields'],
    ['@daily', 'five fields'],
    ['', 'five fields'],
    ['2027-01-01T00:00:00', 'five fields'],
    ['60 * * * *', 'cron expression'],
    ['* 24 * * *', 'cron expression'],
    ['*/0 * * * *', 'cron expression'],
    ['0 0 L * *', 'cron expression'],
    ['0 0 15W * *', 'cron expression'],
    ['0 0 * * MON#2', 'cron expression'],
    ['? ? * * *', 'cron expression'],
    ['a b c d e', 'cron expression'],
    ['0 0 30 2 *', 'never comes'],
    ['0 0 31 2,4,6,9,11 *', 'never comes'],
  ])('refuses %j', (cron, reason) => {
    expect(() => nextTime(cron, 'UTC', new Date())).toThrow(reason);
  });

  it.each(['Mars/Phobos', '+01:00', '', 'Europe/Berlin; DROP', 'UTC\0'])('refuses the zone %j', (timezone) => {
    expect(() => nextTime('0 0 * * *', timezone, new Date())).toThrow(CronError);
  });
});
