import { postgresStreams } from '../../support/stream-backends.js';
import { waitingContract } from './waiting-between-processes.contract.js';

waitingContract('PostgreSQL', postgresStreams);
