import { describe, expect, it, jest } from '@jest/globals';
import type { Connection } from '../../connections/connection.js';
import { ConnectionChanges } from '../../connections/connection-changes.js';
import type { ConnectionDirectory } from '../../connections/connection-directory.js';
import type { UpstreamTool } from '../contract/upstream.js';
import { PinState, fingerprintOf } from './pin-state.js';
import type { PinnedToolRepository } from './pinned-tool.repository.js';
import { ToolPins } from './tool-pins.js';

const connectionAt = (pinEpoch: number) => ({ id: 'c1', pin: 'block', pinEpoch }) as Connection;
const toolNamed = (name: string): UpstreamTool => ({ name, inputSchema: { type: 'object' } });
const stateAt = (epoch: number, ...approved: UpstreamTool[]) =>
  new PinState(
    epoch,
    true,
    approved.map((tool) => ({ fingerprint: fingerprintOf(tool), name: tool.name, isApproved: true })),
  );

/** Pins whose queries wait until the test answers them. */
function pins() {
  const answers: ((state: PinState) => void)[] = [];
  const findState = jest.fn(() => new Promise<PinState | undefined>((resolve) => answers.push(resolve)));
  const recordList = jest.fn<PinnedToolRepository['recordList']>(async () => undefined);
  const repository = { findState, recordList } as unknown as PinnedToolRepository;
  const made = new ToolPins(repository, {} as ConnectionDirectory, new ConnectionChanges());
  return { made, answers, findState, recordList };
}

describe('ToolPins.stateOf', () => {
  it('reads a state once for all who wait for it', async () => {
    const { made, answers, findState } = pins();
    const waiting = Array.from({ length: 20 }, () => made.stateOf(connectionAt(1)));
    expect(findState).toHaveBeenCalledTimes(1);
    const state = stateAt(1);
    answers[0]?.(state);
    for (const found of await Promise.all(waiting)) expect(found).toBe(state);
    expect(made.stateOf(connectionAt(1))).toBe(state);
  });

  it('reads again for a later epoch, and keeps what was read last', async () => {
    const { made, answers, findState } = pins();
    const [early, late] = [made.stateOf(connectionAt(1)), made.stateOf(connectionAt(2))];
    expect(findState).toHaveBeenCalledTimes(2);
    answers[1]?.(stateAt(2));
    expect((await late).epoch).toBe(2);
    answers[0]?.(stateAt(1));
    expect((await early).epoch).toBe(1);
    expect(made.stateOf(connectionAt(1))).toMatchObject({ epoch: 2 });
  });

  it('does not keep a state whose read began before something was recorded', async () => {
    const { made, answers, findState, recordList } = pins();
    const known = made.stateOf(connectionAt(1));
    answers[0]?.(stateAt(1));
    await known;
    let early: PinState | Promise<PinState> | undefined;
    recordList.mockImplementation(async () => {
      early = made.stateOf(connectionAt(2));
    });
    await made.recordList(connectionAt(1), [toolNamed('a')]);
    answers[1]?.(stateAt(2));
    await early;
    expect(made.stateOf(connectionAt(2))).toBeInstanceOf(Promise);
    expect(findState).toHaveBeenCalledTimes(3);
  });

  it('reads again after a failure', async () => {
    const { made, findState } = pins();
    findState.mockRejectedValueOnce(new Error('away'));
    await expect(made.stateOf(connectionAt(1))).rejects.toThrow('away');
    void made.stateOf(connectionAt(1));
    expect(findState).toHaveBeenCalledTimes(2);
  });
});

describe('ToolPins.recordList', () => {
  async function recorded(state: PinState, tools: UpstreamTool[]): Promise<unknown[][]> {
    const { made, answers, recordList } = pins();
    const known = made.stateOf(connectionAt(1));
    answers[0]?.(state);
    await known;
    await made.recordList(connectionAt(1), tools);
    return recordList.mock.calls.map(([, listed, names]) => [listed.map(({ name }) => name), [...names]]);
  }

  it('names the tools that are not recorded yet', async () => {
    const [a, b] = [toolNamed('a'), toolNamed('b')];
    const withheld = { fingerprint: fingerprintOf(b), name: 'b', isApproved: false };
    const approved = { fingerprint: fingerprintOf(a), name: 'a', isApproved: true };
    expect(await recorded(new PinState(1, true, [approved, withheld]), [a, b])).toEqual([]);
    expect(await recorded(stateAt(1, a), [a, b])).toEqual([[['a', 'b'], ['b']]]);
    expect(await recorded(new PinState(1, false, []), [a, b])).toEqual([
      [
        ['a', 'b'],
        ['a', 'b'],
      ],
    ]);
  });

  it('leaves out tools whose name takes more than 1 KiB as JSON', async () => {
    const [fits, escaped, wide] = ['x'.repeat(1_022), '\\'.repeat(512), 'ä'.repeat(512)].map(toolNamed);
    const tools = [fits, escaped, wide] as UpstreamTool[];
    expect(await recorded(stateAt(1), tools)).toEqual([[[fits?.name], [fits?.name]]]);
    expect(await recorded(stateAt(1), tools.slice(1))).toEqual([]);
  });
});
