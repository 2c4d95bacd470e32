import { newId } from '../../../core/ids.js';

/** This process, which alone can take the answers to what it has asked. */
export const THIS_PROCESS = newId();
