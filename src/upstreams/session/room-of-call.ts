import { AsyncLocalStorage } from 'node:async_hooks';
import type { AnswerRoom } from '../../core/answers/answer-room.js';

/** The room for the answer to the call for which a request is sent, by which a transport limits what it buffers. */
export const ROOM_OF_CALL = new AsyncLocalStorage<AnswerRoom>();
