import { describe, expect, it } from '@jest/globals';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT } from './code-blocks.support.js';

const FOLDER = join(ROOT, 'docs/decisions');
const records = readdirSync(FOLDER).filter((name) => name !== 'README.md');
const read = (name: string): string => readFileSync(join(FOLDER, name), 'utf8');

describe('the decision records', () => {
  it.each(records)('%s has a title, a line with date and status, Context, Decision, and Consequences', (name) => {
    const [title = '', , status = ''] = read(name).split('\n');
    expect(title).toMatch(/^# \S/);
    expect(status).toMatch(new RegExp(`^${name.slice(0, 10)} · (?:Accepted|Superseded by \\[)`));
    const sections = read(name).replaceAll(/^```[^]*?^```/gm, '').match(/^## .*$/gm); // prettier-ignore
    expect(sections).toEqual(['## Context', '## Decision', '## Consequences']);
  });

  it('are all in docs/decisions/README.md with their titles, once, below a room of src/ or another heading', () => {
    const entries =
      read('README.md')
        .replaceAll(/\n +/g, ' ')
        .match(/^- .*$/gm) ?? []; // without line breaks inside
    const expected = records.map((name) => {
      const [title = '', , status = ''] = read(name).split('\n');
      const end = status.includes('Superseded by') ? ' (superseded)' : '';
      return `- ${name.slice(0, 10)} [${title.slice(2)}](${name})${end}`;
    });
    expect(entries.toSorted()).toEqual(expected.toSorted());
    const rooms = [...read('README.md').matchAll(/^## `(\w+)`$/gm)].map(([, room = '']) => room);
    expect(rooms.filter((room) => !existsSync(join(ROOT, 'src', room)))).toEqual([]);
  });
});
