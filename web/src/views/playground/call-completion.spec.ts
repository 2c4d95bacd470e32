import { describe, expect, it } from '@jest/globals';
import { toolsAt, withCall } from './call-completion.js';

const TOOLS = ['get-sum', 'echo', 'sum', 'two words', 'evil\n/fail', 'tur\u202Ened'];

/** The text before and after the bar, which is the caret. */
function split(marked: string): [text: string, caret: number] {
  return [marked.replace('|', ''), marked.indexOf('|')];
}

describe('toolsAt', () => {
  it.each([
    ['/|', ['get-sum', 'echo', 'sum']],
    ['/ca|', ['get-sum', 'echo', 'sum']],
    ['Hello\n/call |', ['get-sum', 'echo', 'sum']],
    ['/call SUM|', ['sum', 'get-sum']],
    ['/call e|cho {}\nmore', ['echo', 'get-sum']],
    ['/call echo|', []],
    ['/call none|', []],
    ['/call echo {|}', []],
    ['/words|', []],
    ['say /call |', []],
    ['|/call ', []],
    ['|', []],
  ])('offers for %j the tools that it can mean', (marked, tools) => {
    expect(toolsAt(...split(marked), TOOLS)).toEqual(tools);
  });
});

describe('withCall', () => {
  it.each([
    ['/|', '/call echo {|}'],
    ['Hello\n/call |\nmore', 'Hello\n/call echo {|}\nmore'],
    ['/call s|um {"a":1}', '/call echo| {"a":1}'],
  ])('completes %j', (before, after) => {
    const [text, caret] = split(after);
    expect(withCall(...split(before), 'echo')).toEqual({ text, caret });
  });
});
