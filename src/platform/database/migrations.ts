import { Baseline1763700000000 } from './migrations/1763700000000-baseline.js';
import { Files1763700001000 } from './migrations/1763700001000-files.js';
import { ProviderOptions1763700002000 } from './migrations/1763700002000-provider-options.js';
import { ModelFallbacks1763700003000 } from './migrations/1763700003000-model-fallbacks.js';
import { SpendLimits1763700004000 } from './migrations/1763700004000-spend-limits.js';
import { PinnedTools1763700005000 } from './migrations/1763700005000-pinned-tools.js';
import { OutputSchemas1763700007000 } from './migrations/1763700007000-output-schemas.js';
import { ToolSearch1763700008000 } from './migrations/1763700008000-tool-search.js';
import { Steering1763700009000 } from './migrations/1763700009000-steering.js';
import { WebhookToolsChanged1763700010000 } from './migrations/1763700010000-webhook-tools-changed.js';
import { MachineClients1763700012000 } from './migrations/1763700012000-machine-clients.js';
import { AgentsAsTools1763700013000 } from './migrations/1763700013000-agents-as-tools.js';
import { AskedTasks1763700014000 } from './migrations/1763700014000-asked-tasks.js';
import { AgentSlugs1763700015000 } from './migrations/1763700015000-agent-slugs.js';
import { TransientThreads1763700016000 } from './migrations/1763700016000-transient-threads.js';
import { TransientThreadsIndex1763700016500 } from './migrations/1763700016500-transient-threads-index.js';
import { IdTokens1763700017000 } from './migrations/1763700017000-id-tokens.js';
import { ModelRecordings1763700019000 } from './migrations/1763700019000-model-recordings.js';
import { FoundRuns1763700019100 } from './migrations/1763700019100-found-runs.js';
import { UsedByThreads1763700019110 } from './migrations/1763700019110-used-by-threads.js';
import { MessagesWordsIndex1763700019120 } from './migrations/1763700019120-messages-words-index.js';
import { ThreadsWordsIndex1763700019130 } from './migrations/1763700019130-threads-words-index.js';
import { AgentVersions1763700019200 } from './migrations/1763700019200-agent-versions.js';
import { PlainToolLists1763700019210 } from './migrations/1763700019210-plain-tool-lists.js';
import { CheaperRuns1763700019220 } from './migrations/1763700019220-cheaper-runs.js';
import { GrowthIndexes1763700019260 } from './migrations/1763700019260-growth-indexes.js';
import { StartTimes1763700019270 } from './migrations/1763700019270-start-times.js';
import { PlanOfRunEnds1763700019280 } from './migrations/1763700019280-plan-of-run-ends.js';
import { FollowingPosts1763700019290 } from './migrations/1763700019290-following-posts.js';
import { LinkMakers1763700019310 } from './migrations/1763700019310-link-makers.js';
import { OrderedSpendWindows1763700019320 } from './migrations/1763700019320-ordered-spend-windows.js';
import { WindowsOfNewSpendLimits1763700019330 } from './migrations/1763700019330-windows-of-new-spend-limits.js';

/** Every migration, oldest first. Named one by one so that bundlers, tests and the CLI all see the same list. */
export const MIGRATIONS = [
  Baseline1763700000000,
  Files1763700001000,
  ProviderOptions1763700002000,
  ModelFallbacks1763700003000,
  SpendLimits1763700004000,
  PinnedTools1763700005000,
  OutputSchemas1763700007000,
  ToolSearch1763700008000,
  Steering1763700009000,
  WebhookToolsChanged1763700010000,
  MachineClients1763700012000,
  AgentsAsTools1763700013000,
  AskedTasks1763700014000,
  AgentSlugs1763700015000,
  TransientThreads1763700016000,
  TransientThreadsIndex1763700016500,
  IdTokens1763700017000,
  ModelRecordings1763700019000,
  FoundRuns1763700019100,
  UsedByThreads1763700019110,
  MessagesWordsIndex1763700019120,
  ThreadsWordsIndex1763700019130,
  AgentVersions1763700019200,
  PlainToolLists1763700019210,
  CheaperRuns1763700019220,
  GrowthIndexes1763700019260,
  StartTimes1763700019270,
  PlanOfRunEnds1763700019280,
  FollowingPosts1763700019290,
  LinkMakers1763700019310,
  OrderedSpendWindows1763700019320,
  WindowsOfNewSpendLimits1763700019330,
];
