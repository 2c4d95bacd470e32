import { describe, expect, it } from '@jest/globals';
import { type InvocationFacts, type InvocationOutcome, COPY_COLUMNS, copyLine } from './audit-record.js';

const ID = '019ab000-0000-7000-8000-000000000001';
const AT = '2026-01-02T03:04:05.678Z';

const FACTS: InvocationFacts = {
  organizationId: '019ab000-0000-7000-8000-000000000002',
  entryPoint: 'proxy',
  connectionId: '019ab000-0000-7000-8000-000000000003',
  agentId: null,
  toolName: 'echo',
  userId: '019ab000-0000-7000-8000-000000000004',
  apiKeyId: null,
  runId: null,
  requestId: 'request-1',
  public: false,
};

const OUTCOME: InvocationOutcome = { status: 'error', errorCode: 'upstream_timeout', durationMs: 1.23456 };

function columnsOf(facts: Partial<InvocationFacts>, outcome: Partial<InvocationOutcome> = {}): Record<string, string> {
  const line = copyLine(ID, AT, { ...FACTS, ...facts }, { ...OUTCOME, ...outcome });
  expect(line.endsWith('\n')).toBe(true);
  const values = line.slice(0, -1).split('\t');
  const names = COPY_COLUMNS.split(', ');
  expect(values).toHaveLength(names.length);
  return Object.fromEntries(names.map((name, index) => [name, values[index] ?? '']));
}

describe('a line for COPY', () => {
  it('contains every column in order', () => {
    expect(columnsOf({ public: true })).toEqual({
      organization_id: FACTS.organizationId,
      at: AT,
      id: ID,
      door: 'proxy',
      connection_id: FACTS.connectionId,
      agent_id: String.raw`\N`,
      tool_name: 'echo',
      status: 'error',
      error_code: 'upstream_timeout',
      duration_ms: '1.235',
      user_id: FACTS.userId,
      api_key_id: String.raw`\N`,
      run_id: String.raw`\N`,
      request_id: 'request-1',
      public: 't',
      arguments: String.raw`\N`,
      result: String.raw`\N`,
    });
  });

  it('contains arguments and result only if they are recorded', () => {
    const result = { text: 'a\n"b"' };
    expect(columnsOf({}, { status: 'success', errorCode: null, result })).toMatchObject({
      arguments: String.raw`\N`,
      result: String.raw`\N`,
    });
    expect(columnsOf({ content: { arguments: { pin: 1 } } }, { result })).toMatchObject({
      arguments: '{"pin":"***"}',
      result: String.raw`{"text":"a\\n\\"b\\""}`,
    });
  });

  it.each([
    ['no result for an unanswered call', OUTCOME, String.raw`\N`],
    ['a result that was not captured', { ...OUTCOME, status: 'success', errorCode: null }, '{"truncated":true}'],
    ['a failure that was not captured', { ...OUTCOME, errorCode: 'tool_error' }, '{"truncated":true}'],
  ] as const)('writes %s', (_what, outcome, result) => {
    expect(columnsOf({ content: { arguments: undefined } }, outcome)).toMatchObject({ arguments: '{}', result });
  });

  it.each([
    ['separators', 'a\tb\nc\rd', String.raw`a\tb\nc\rd`],
    ['a backslash, and the markers for null and end of data', String.raw`\N\.`, String.raw`\\N\\.`],
    ['NUL, which is removed', 'a\0b', 'ab'],
    ['a lone surrogate', 'a\ud800b', 'a\ufffdb'],
  ])('escapes a tool name: %s', (_what, toolName, column) => {
    expect(columnsOf({ toolName }).tool_name).toBe(column);
  });

  it('truncates external values, also inside a surrogate pair', () => {
    const columns = columnsOf({ toolName: `${'x'.repeat(255)}😀tail`, requestId: 'r'.repeat(1000) });
    expect(columns.tool_name).toBe(`${'x'.repeat(255)}\ufffd`);
    expect(columns.request_id).toBe('r'.repeat(128));
  });

  it('writes null for an invalid id and 0 for an invalid duration', () => {
    expect(columnsOf({ connectionId: 'no\tuuid' }, { durationMs: Number.NaN })).toMatchObject({
      connection_id: String.raw`\N`,
      duration_ms: '0',
    });
  });
});
