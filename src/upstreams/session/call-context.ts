import { AsyncLocalStorage } from 'node:async_hooks';
import type { AnswerRoom } from '../../core/answers/answer-room.js';

/** A call whose client asked for log messages. @param params of the message */
export type LogReader = (params: object) => void;

/** The call for which a request is sent, by which a transport with a stream for each request passes its messages on. */
export const LOG_OF_CALL = new AsyncLocalStorage<LogReader>();

/** The room for the answer to the call for which a request is sent, by which a transport limits what it buffers. */
export const ROOM_OF_CALL = new AsyncLocalStorage<AnswerRoom>();
