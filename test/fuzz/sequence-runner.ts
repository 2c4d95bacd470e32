import { codeOf, faultOf, type Answer } from './answer-rules.js';
import { BOUND_MS, fillIn, type Sender, type SentRequest } from './sender.js';
import type { Sequence } from './sequences.js';
import type { Step } from './step.js';
import type { Tally } from './tally.js';
import { World, type Fixtures, type Kind } from './world.js';

/** A request whose answer breaks a rule. */
export class Fault extends Error {
  readonly rule: string;
  readonly step: Step;
  readonly sent: SentRequest;
  /** What came back, cut. */
  readonly answer: string;

  constructor(rule: string, step: Step, sent: SentRequest, answer: string) {
    super(rule);
    this.rule = rule;
    this.step = step;
    this.sent = sent;
    this.answer = answer;
  }
}

const KINDS: readonly [RegExp, Kind][] = [
  [/^POST \/api\/\{org\}\/files$/, 'file'],
  [/CONNECTIONS_(CREATE|LIST)$/, 'connection'],
  [/VIRTUAL_MCP_(CREATE|LIST)$/, 'agent'],
  [/THREADS_(CREATE|LIST)$/, 'thread'],
  [/API_KEY_CREATE$/, 'key'],
  [/AI_PROVIDER_CREATE$/, 'provider'],
];
/** How what a sequence has made is removed, in this order. */
const REMOVALS: readonly [Kind, string][] = [
  ['thread', 'COLLECTION_THREADS_DELETE'],
  ['agent', 'COLLECTION_VIRTUAL_MCP_DELETE'],
  ['connection', 'COLLECTION_CONNECTIONS_DELETE'],
  ['provider', 'AI_PROVIDER_DELETE'],
  ['key', 'API_KEY_DELETE'],
];
const UNSET_TIERS = { data: { fast: null, smart: null, thinking: null } };

/** Sends sequences one after the other or many at once, and holds each answer against the rules. */
export class SequenceRunner {
  readonly #sender: Sender;
  readonly #fixtures: Fixtures;
  readonly #tally: Tally;

  constructor(sender: Sender, fixtures: Fixtures, tally: Tally) {
    this.#sender = sender;
    this.#fixtures = fixtures;
    this.#tally = tally;
  }

  /**
   * Sends the sequence, removes what it has made, and sends its end again, so that what is gone is asked for too.
   * @throws Fault for the first answer that breaks a rule
   */
  async run(sequence: Sequence): Promise<void> {
    const world = new World(this.#fixtures);
    try {
      for (const group of sequence) await this.#sendAll(group, world);
    } finally {
      await this.#cleanUp(sequence, world);
    }
    const last = sequence.at(-1);
    if (last !== undefined && REMOVALS.some(([kind]) => world.own(kind).length > 0)) await this.#sendAll(last, world);
  }

  async #sendAll(group: readonly Step[], world: World): Promise<void> {
    const outcomes = await Promise.allSettled(group.map((step) => this.#send(step, world)));
    const failed = outcomes.find(({ status }) => status === 'rejected');
    if (failed !== undefined) throw (failed as PromiseRejectedResult).reason;
  }

  async #send(step: Step, world: World): Promise<void> {
    const sent = fillIn(step, world);
    const outcome = await this.#sender.send(step, sent);
    if (typeof outcome === 'string') return this.#tally.add(step.label, outcome);
    if ('broken' in outcome) {
      // Calls under way are cut off when their key is deleted.
      if (await this.#isRevoked(sent)) return this.#tally.add(step.label, 'cut off');
      this.#tally.add(step.label, 'broken');
      throw new Fault('The connection broke off without an answer.', step, sent, outcome.broken);
    }
    const { answer, ms } = outcome;
    const code = answer.status >= 400 || step.isRpc ? codeOf(answer.text) : undefined;
    this.#tally.add(step.label, answer.status, ms, code);
    this.#tally.took(
      ms,
      () => `${step.method} ${sent.path} ${sent.body?.slice(0, 400)} → ${answer.status} ${answer.text.slice(0, 300)}`,
    );
    const shown = `${answer.status} ${JSON.stringify(answer.headers)}\n${answer.text.slice(0, 2_000)}`;
    const fault = ms > BOUND_MS ? 'The answer took too long.' : faultOf(step, sent, answer, this.#fixtures.secret);
    if (fault !== undefined) throw new Fault(fault, step, sent, shown);
    if (answer.status < 300) learn(step, sent, answer, world);
  }

  async #isRevoked({ headers: { authorization } }: SentRequest): Promise<boolean> {
    if (authorization === undefined) return false;
    const step = this.#ownStep('COLLECTION_THREADS_LIST', {});
    const asked = fillIn({ ...step, headers: { ...step.headers, authorization } }, new World(this.#fixtures));
    const outcome = await this.#sender.send(step, asked);
    return typeof outcome === 'object' && 'answer' in outcome && outcome.answer.status === 401;
  }

  async #cleanUp(sequence: Sequence, world: World): Promise<void> {
    const removals = REMOVALS.flatMap(([kind, tool]) => world.own(kind).map((id) => ({ tool, body: { id } })));
    const setsTiers = sequence.flat().some(({ label, body = '' }) => `${label}${body}`.includes('MODEL_TIERS_SET'));
    const setsAudit = sequence
      .flat()
      .some(({ label, body = '' }) => `${label}${body}`.includes('AUDIT_SETTINGS_UPDATE'));
    if (setsTiers) removals.unshift({ tool: 'MODEL_TIERS_SET', body: UNSET_TIERS as never });
    if (setsAudit) removals.unshift({ tool: 'AUDIT_SETTINGS_UPDATE', body: { content: false } as never });
    for (const { tool, body } of removals) await this.#send(this.#ownStep(tool, body), world);
  }

  #ownStep(tool: string, body: object): Step {
    return {
      label: `POST tools/${tool}`,
      method: 'POST',
      path: `/api/@@organization:0@@/tools/${tool}`,
      headers: { authorization: 'Bearer @@key-value:all@@', 'content-type': 'application/json' },
      body: JSON.stringify(body),
      isRpc: false,
    };
  }
}

/** Remembers the ids that an answer holds, for the requests after it. */
function learn(step: Step, { path }: SentRequest, { headers, text }: Answer, world: World): void {
  const session = headers['mcp-session-id'];
  if (typeof session === 'string') world.openSession(path, session);
  if (step.holdMs !== undefined) {
    for (const [, id] of text.matchAll(/^id: (.*)$/gm)) world.add('event', id);
    return;
  }
  const type = String(headers['content-type']);
  // An export has an object on each line.
  if (!text.startsWith('{') || type.startsWith('application/jsonl')) return;
  const body = JSON.parse(text) as Record<string, unknown>;
  // Management tools answer over MCP too.
  const { structuredContent } = (body['result'] ?? {}) as { structuredContent?: Record<string, unknown> };
  const name = structuredContent === undefined ? step.label : (/"name":"([A-Z_]+)"/.exec(step.body ?? '')?.[1] ?? '');
  learnOutput(name, structuredContent ?? body, world);
}

function learnOutput(tool: string, output: Record<string, unknown>, world: World): void {
  world.add('run', output['taskId']);
  for (const { id } of (output['pending_approvals'] ?? []) as { id: string }[]) world.add('approval', id);
  world.add('cursor', output['nextCursor']);
  if (typeof output['key'] === 'string') world.addKeyValue(output['key']);
  const kind = KINDS.find(([pattern]) => pattern.test(tool))?.[1];
  if (kind === undefined || tool.endsWith('_LIST')) return;
  const item = (output['item'] ?? output) as { id?: string; virtual_mcp_id?: string };
  world.add(kind, item.id);
  if (kind === 'thread' && item.id !== undefined && item.virtual_mcp_id !== undefined)
    world.setAgent(item.id, item.virtual_mcp_id);
}
