import { describe, expect, it } from '@jest/globals';
import { saysToolsChanged } from './relay-unsolicited.js';

describe('saysToolsChanged', () => {
  it.each([
    ['data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n', true],
    [String.raw`data: {"method":"notifications\/tools\/list_changed"}` + '\n\n', true],
    ['data: {"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}\n\n', false],
    ['data: {"jsonrpc":"2.0","id":1,"result":{"tools":[]}}\n\n', false],
  ])('%j: %p', (event, isSaid) => expect(saysToolsChanged(Buffer.from(event))).toBe(isSaid));
});
