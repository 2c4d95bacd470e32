import { describe, expect, it } from '@jest/globals';
import { parseDirectives } from './directives.js';

describe('parseDirectives', () => {
  it.each([
    ['hello there', [{ kind: 'say', text: 'You said: hello there' }]],
    ['', [{ kind: 'say', text: 'You said: ' }]],
    ['two\nlines', [{ kind: 'say', text: 'You said: two\nlines' }]],
    ['  /call is quoted', [{ kind: 'say', text: 'You said: /call is quoted' }]],
    ['/wait 20', [{ kind: 'wait', milliseconds: 20 }]],
    ['/wait 999999999999', [{ kind: 'wait', milliseconds: 600_000 }]],
    ['/words 3', [{ kind: 'words', count: 3 }]],
    ['/words 1000000000', [{ kind: 'words', count: 100_000 }]],
    ['/fail out of coal', [{ kind: 'fail', message: 'out of coal' }]],
    ['/fail', [{ kind: 'fail', message: 'The model was told to fail.' }]],
    ['/call now', [{ kind: 'call', tool: 'now', input: '{}' }]],
    ['/call add {"a": 1, "b": [2]}', [{ kind: 'call', tool: 'add', input: '{"a": 1, "b": [2]}' }]],
  ])('reads %j', (message, directives) => {
    expect(parseDirectives(message)).toEqual(directives);
  });

  it('puts the text first and keeps the order of the directives', () => {
    expect(parseDirectives('/words 1\r\nhello\r\n/call now {}\r\n\r\nworld\r\n/wait 5\r\n')).toEqual([
      { kind: 'say', text: 'You said: hello\n\nworld' },
      { kind: 'words', count: 1 },
      { kind: 'call', tool: 'now', input: '{}' },
      { kind: 'wait', milliseconds: 5 },
    ]);
  });

  it.each([
    ['/wait', /requires a number of milliseconds/],
    ['/wait -1', /requires a number of milliseconds/],
    ['/words many', /requires a number of words/],
    ['/call', /requires the name of a tool/],
    ['/call add {"a":', /"\/call add" are not a JSON object/],
    ['/call add [1]', /"\/call add" are not a JSON object/],
    ['/dance', /no directive \/dance/],
    ['/', /no directive \//],
  ])('answers %j with what is wrong with it', (message, sentence) => {
    expect(parseDirectives(message)).toEqual([{ kind: 'say', text: expect.stringMatching(sentence) }]);
  });
});
