import { postgresStreams } from '../../support/stream-backends.js';
import { approvalsContract } from './approvals-between-processes.contract.js';

approvalsContract('PostgreSQL', postgresStreams);
