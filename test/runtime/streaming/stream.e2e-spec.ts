import { streamLifetimeContract } from './stream-lifetime.contract.js';
import { streamContract } from './stream.contract.js';
import { postgresStreams } from '../../support/stream-backends.js';

streamContract('PostgreSQL', postgresStreams);
streamLifetimeContract('PostgreSQL', postgresStreams);
