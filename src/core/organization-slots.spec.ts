import { describe, expect, it } from '@jest/globals';
import { OrganizationSlots } from './organization-slots.js';

const LIMITS = { slots: 3, perOrganization: 2, maxWaiting: 4, waitMs: 60_000 };

/** Tasks that end on demand, and the order in which they started. */
class Tasks {
  readonly started: string[] = [];
  readonly results: Promise<string>[] = [];
  readonly leaving = new AbortController();
  private readonly ends = new Map<string, () => void>();

  constructor(private readonly slots: OrganizationSlots) {}

  async add(organization: string, name: string): Promise<void> {
    const task = async (): Promise<string> => {
      this.started.push(name);
      await new Promise<void>((resolve) => this.ends.set(name, resolve));
      return name;
    };
    const result = this.slots.within(organization, task, this.leaving.signal);
    result.catch(() => undefined);
    this.results.push(result);
    await settled();
  }

  async end(name: string): Promise<void> {
    this.ends.get(name)?.();
    await settled();
  }
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('OrganizationSlots', () => {
  it('limits the tasks of an organization, and leaves slots to others', async () => {
    const tasks = new Tasks(new OrganizationSlots(LIMITS));
    for (const name of ['a1', 'a2', 'a3']) await tasks.add('a', name);
    await tasks.add('b', 'b1');
    expect(tasks.started).toEqual(['a1', 'a2', 'b1']);
    await tasks.end('a1');
    expect(tasks.started).toEqual(['a1', 'a2', 'b1', 'a3']);
  });

  it('gives a slot to the organization with the fewest, however many of another came first', async () => {
    const tasks = new Tasks(new OrganizationSlots(LIMITS));
    for (const name of ['a1', 'a2', 'a3', 'a4']) await tasks.add('a', name);
    await tasks.add('b', 'b1');
    await tasks.add('c', 'c1');
    await tasks.end('a1');
    expect(tasks.started).toEqual(['a1', 'a2', 'b1', 'c1']);
    await tasks.end('b1');
    await tasks.end('a2');
    expect(tasks.started).toEqual(['a1', 'a2', 'b1', 'c1', 'a3', 'a4']);
  });

  it('refuses a task behind too many of its organization, and one that waited too long', async () => {
    const tasks = new Tasks(new OrganizationSlots({ ...LIMITS, maxWaiting: 1, waitMs: 20 }));
    for (const name of ['a1', 'a2', 'a3', 'a4']) await tasks.add('a', name);
    const refused = { code: 'too_many_requests', headers: { 'retry-after': '1' } };
    await expect(tasks.results[3]).rejects.toMatchObject(refused);
    await expect(tasks.results[2]).rejects.toMatchObject(refused);
    await tasks.end('a1');
    await tasks.add('a', 'a5');
    expect(tasks.started).toEqual(['a1', 'a2', 'a5']);
  });

  it('frees the slot of a task that fails', async () => {
    const slots = new OrganizationSlots({ ...LIMITS, slots: 1 });
    await expect(slots.within('a', () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await slots.within('a', () => Promise.resolve('done'))).toBe('done');
  });

  it('ends the wait of callers who leave, while a task that has started keeps its slot', async () => {
    const slots = new OrganizationSlots({ slots: 1, perOrganization: 1 });
    const leaving = new Tasks(slots);
    for (const name of ['a1', 'a2']) await leaving.add('a', name);
    leaving.leaving.abort();
    await expect(leaving.results[1]).rejects.toThrow('aborted');
    const others = new Tasks(slots);
    await others.add('b', 'b1');
    expect(others.started).toEqual([]);
    await leaving.end('a1');
    expect([...leaving.started, ...others.started]).toEqual(['a1', 'b1']);
  });
});
