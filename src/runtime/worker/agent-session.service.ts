import { getHeapStatistics } from 'node:v8';
import { Injectable } from '@nestjs/common';
import { AgentToolset, type OpenToolset } from '../../agents/agent-toolset.js';
import type { RunnableAgent } from '../../agents/records/agent.js';
import { OutputSchemas } from '../../agents/output-schemas.js';
import { AgentsService } from '../../agents/records/agents.service.js';
import { DomainError } from '../../core/domain-error.js';
import type { ModelRecording } from '../../core/model-recording.js';
import { AppConfig } from '../../core/config/app-config.js';
import { historyBytesFor } from '../threads/history-query.js';
import type { ClaimedRun } from '../runs/records/new-run.js';
import { RunSteering } from '../runs/records/run-steering.js';
import { AnswerFiles } from '../files/answer-files.js';
import { ModelFiles } from '../files/model-files.js';
import { RecentHistories } from '../threads/recent-histories.js';
import type { TranscriptMessage } from '../threads/transcript.service.js';
import type { AgentLoopInput } from './agent-loop.js';
import { AnswerShape } from './answer-shape.js';
import { AttemptSteering, withSteersInPlace } from './attempt-steering.js';
import { CallableTools } from './callable-tools.js';
import type { RunAttemptControl } from './run-attempt-control.js';
import { RunFiles } from './run-files.js';
import { ownerOfThread } from '../../upstreams/contract/callers.js';
import { textOfMessage, usableMessageParts } from './usable-history.js';

/** The input of the agent loop, without its model and the parts that belong to the attempt. */
export type AgentSession = Omit<
  AgentLoopInput,
  'models' | 'approvals' | 'shouldYield' | 'observation' | 'recordings'
> & {
  agentName: string;
  modelRecording: ModelRecording;
};

/** Assembles the input of an agent: its instructions, its tools, and the conversation. */
@Injectable()
export class AgentSessionService {
  private readonly maxHistoryBytes: number;

  constructor(
    private readonly agents: AgentsService,
    private readonly toolset: AgentToolset,
    private readonly histories: RecentHistories,
    private readonly modelFiles: ModelFiles,
    private readonly answerFiles: AnswerFiles,
    private readonly schemas: OutputSchemas,
    private readonly steering: RunSteering,
    config: AppConfig,
  ) {
    this.maxHistoryBytes = historyBytesFor(getHeapStatistics().heap_size_limit, config.settings.runConcurrency);
  }

  /** @throws DomainError `agent_not_found` if the agent was deleted after the run was posted */
  async openAgentSession(run: ClaimedRun, { signal, steering }: RunAttemptControl): Promise<AgentSession> {
    const { organizationId, agentId } = run;
    const caller = {
      userId: run.userId,
      runId: run.id,
      requestId: run.requestId,
      apiKeyId: run.apiKeyId,
    };
    // The runs of a thread build on what the earlier ones have left at an upstream, such as an open page.
    const owner = ownerOfThread({ id: run.threadId, createdAt: run.threadCreatedAt }, run.holderId);
    const reading = this.agents.findForRun(organizationId, agentId);
    const [agent, messages, toolset, steers] = await Promise.all([
      reading,
      this.histories.read(run, this.maxHistoryBytes),
      this.toolset.openToolset({ id: agentId, organizationId, reading }, { caller, owner, signal }),
      AttemptSteering.open(run, this.steering, steering),
    ]);
    if (agent === undefined) throw new DomainError('agent_not_found', "The thread's agent no longer exists.");
    const usable = messages
      .filter(({ id }) => id !== run.messageId)
      .map((message) => ({ ...message, parts: usableMessageParts(message.role, message.parts) }));
    const history = withSteersInPlace(usable);
    const { tools, unavailable } = toolset;
    return {
      agentName: agent.title,
      modelRecording: agent.modelRecording,
      instructions: instructionsOf(agent, systemMessagesOf(messages), unavailable.map(labelOf)),
      history,
      files: new RunFiles(run, this.modelFiles, this.answerFiles),
      tools,
      callable: new CallableTools(toolset, history),
      steering: steers,
      temperature: run.temperature,
      shape: AnswerShape.of(agent, this.schemas, run, signal),
      maxSteps: agent.maxSteps,
      approvalTimeoutS: agent.approvalTimeoutS,
    };
  }
}

/** The agent's instructions, then the system messages of this request, then a note about unavailable connections. */
function instructionsOf(agent: RunnableAgent, system: readonly string[], unavailable: readonly string[]): string {
  const missing = `The tools of these connections are not available right now: ${unavailable.join(', ')}.`;
  return [agent.instructions ?? '', ...system, unavailable.length === 0 ? '' : missing]
    .filter((text) => text !== '')
    .join('\n\n');
}

/** The title, and where a person has to sign in first, if that is why the connection is unavailable. */
function labelOf({ title, signInPage }: OpenToolset['unavailable'][number]): string {
  return signInPage === undefined ? title : `${title} (a person has to sign in first, at ${signInPage})`;
}

function systemMessagesOf(messages: readonly TranscriptMessage[]): string[] {
  return messages
    .filter(({ role, isRequest }) => role === 'system' && isRequest)
    .map(({ parts }) => textOfMessage(parts));
}
