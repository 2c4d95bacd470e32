import { Initial1763700000000 } from './migrations/1763700000000-initial.js';
import { RunEvents1763700000100 } from './migrations/1763700000100-run-events.js';
import { Audit1763700000200 } from './migrations/1763700000200-audit.js';
import { RunTransactions1763700000400 } from './migrations/1763700000400-run-transactions.js';
import { RunEventStart1763700000410 } from './migrations/1763700000410-run-event-start.js';
import { AuditContent1763700000420 } from './migrations/1763700000420-audit-content.js';
import { StoredSizes1763700000510 } from './migrations/1763700000510-stored-sizes.js';
import { McpTasks1763700000520 } from './migrations/1763700000520-mcp-tasks.js';
import { RunEventEpochs1763700000530 } from './migrations/1763700000530-run-event-epochs.js';
import { Stdio1763700000300 } from './migrations/1763700000300-stdio.js';
import { RunTurns1763700000540 } from './migrations/1763700000540-run-turns.js';
import { RunTraces1763700000550 } from './migrations/1763700000550-run-traces.js';
import { OpenModelKinds1763700000570 } from './migrations/1763700000570-open-model-kinds.js';
import { OpenConnectionTypes1763700000580 } from './migrations/1763700000580-open-connection-types.js';
import { People1763700000600 } from './migrations/1763700000600-people.js';
import { RunCallers1763700000601 } from './migrations/1763700000601-run-callers.js';
import { Oauth1763700000602 } from './migrations/1763700000602-oauth.js';
import { KeysOfGrants1763700000603 } from './migrations/1763700000603-keys-of-grants.js';
import { SignIn1763700000605 } from './migrations/1763700000605-sign-in.js';
import { PeopleList1763700000606 } from './migrations/1763700000606-people-list.js';
import { AuditEvents1763700000620 } from './migrations/1763700000620-audit-events.js';
import { ThreadTokens1763700000621 } from './migrations/1763700000621-thread-tokens.js';
import { LinkMakers1763700000630 } from './migrations/1763700000630-link-makers.js';
import { AgentHistory1763700000640 } from './migrations/1763700000640-agent-history.js';
import { RunLimits1763700000656 } from './migrations/1763700000656-run-limits.js';
import { Limits1763700000655 } from './migrations/1763700000655-limits.js';
import { ThreadMetadata1763700000671 } from './migrations/1763700000671-thread-metadata.js';
import { Regeneration1763700000672 } from './migrations/1763700000672-regeneration.js';
import { ConnectionImport1763700000673 } from './migrations/1763700000673-connection-import.js';
import { Approvals1763700000674 } from './migrations/1763700000674-approvals.js';
import { Webhooks1763700000677 } from './migrations/1763700000677-webhooks.js';
import { Schedules1763700000678 } from './migrations/1763700000678-schedules.js';
import { FailedRuns1763700000680 } from './migrations/1763700000680-failed-runs.js';
import { RunCosts1763700000690 } from './migrations/1763700000690-run-costs.js';
import { StartedRuns1763700000691 } from './migrations/1763700000691-started-runs.js';
import { RefreshLeases1763700000720 } from './migrations/1763700000720-refresh-leases.js';
import { SharedState1763700000700 } from './migrations/1763700000700-shared-state.js';
import { ApprovalTools1763700000740 } from './migrations/1763700000740-approval-tools.js';
import { StatusSince1763700000741 } from './migrations/1763700000741-status-since.js';
import { MakerKeys1763700000710 } from './migrations/1763700000710-maker-keys.js';
import { MailCounts1763700000711 } from './migrations/1763700000711-mail-counts.js';
import { ApprovalTargets1763700000750 } from './migrations/1763700000750-approval-targets.js';
import { OperatorLinks1763700000721 } from './migrations/1763700000721-operator-links.js';
import { KeptQuotas1763700000760 } from './migrations/1763700000760-kept-quotas.js';
import { UsedSignIns1763700000761 } from './migrations/1763700000761-used-sign-ins.js';
import { UpstreamOauth1763700000610 } from './migrations/1763700000610-upstream-oauth.js';

/** Every migration, oldest first. Named one by one so that bundlers, tests and the CLI all see the same list. */
export const MIGRATIONS = [
  Initial1763700000000,
  RunEvents1763700000100,
  Audit1763700000200,
  Stdio1763700000300,
  RunTransactions1763700000400,
  RunEventStart1763700000410,
  AuditContent1763700000420,
  StoredSizes1763700000510,
  McpTasks1763700000520,
  RunEventEpochs1763700000530,
  RunTurns1763700000540,
  RunTraces1763700000550,
  OpenModelKinds1763700000570,
  OpenConnectionTypes1763700000580,
  People1763700000600,
  RunCallers1763700000601,
  Oauth1763700000602,
  KeysOfGrants1763700000603,
  SignIn1763700000605,
  PeopleList1763700000606,
  UpstreamOauth1763700000610,
  AuditEvents1763700000620,
  ThreadTokens1763700000621,
  LinkMakers1763700000630,
  AgentHistory1763700000640,
  Limits1763700000655,
  RunLimits1763700000656,
  ThreadMetadata1763700000671,
  Regeneration1763700000672,
  ConnectionImport1763700000673,
  Approvals1763700000674,
  Webhooks1763700000677,
  Schedules1763700000678,
  FailedRuns1763700000680,
  RunCosts1763700000690,
  StartedRuns1763700000691,
  RefreshLeases1763700000720,
  SharedState1763700000700,
  ApprovalTools1763700000740,
  StatusSince1763700000741,
  MakerKeys1763700000710,
  MailCounts1763700000711,
  ApprovalTargets1763700000750,
  OperatorLinks1763700000721,
  KeptQuotas1763700000760,
  UsedSignIns1763700000761,
];
