import { readFile, writeFile } from 'node:fs/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { CONVERSATION, QUESTION } from '../../../test/support/model-steps/conversation.js';
import { type Played, playScenario } from '../../../test/support/model-steps/play-scenario.js';
import { CONVERSATIONS, SCENARIOS } from '../../../test/support/model-steps/scenarios.js';

/**
 * What each scenario did on the day when the provider's stream was read by `streamText` of the AI SDK: the order of the
 * fields is that of the stream. `UPDATE_MODEL_STEPS=1` writes it again.
 */
const RECORDED = 'test/support/model-steps/recorded.json';
const isUpdate = process.env['UPDATE_MODEL_STEPS'] === '1';
const recorded = isUpdate ? {} : (JSON.parse(await readFile(RECORDED, 'utf8')) as Record<string, Partial<Played>>);

/** The same as recorded, with the fields in the same order. */
function expectAsRecorded(name: string, played: Partial<Played>): void {
  if (isUpdate) recorded[name] = played;
  expect(JSON.stringify(played, null, 1)).toBe(JSON.stringify(recorded[name], null, 1));
}

describe('a step of a model', () => {
  afterAll(async () => {
    if (isUpdate) await writeFile(RECORDED, `${JSON.stringify(recorded, null, 2)}\n`);
  });

  it.each(Object.entries(SCENARIOS))('with %s is as recorded', async (name, scenario) => {
    const { asked, ...played } = await playScenario(scenario, QUESTION);
    expectAsRecorded(name, { ...played, ...(scenario.settings && { asked }) });
  });

  it.each(Object.entries(CONVERSATIONS))(
    'that follows a conversation, with %s, is as recorded',
    async (name, scenario) => {
      const urls = { 'application/pdf': [/^https:/] };
      expectAsRecorded(`${name} after a conversation`, await playScenario(scenario, CONVERSATION, urls));
    },
  );

  it('is not asked for without a message', async () => {
    expectAsRecorded('no message', await playScenario({ calls: [] }, []));
  });
});
