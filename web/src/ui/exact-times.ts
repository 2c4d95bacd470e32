import { StoredSwitch, useSwitch } from './stored-switch.js';

const EXACT_TIMES = new StoredSwitch('signalbox-exact-times', false);

/** Whether times are shown exactly instead of as "3 minutes ago": who cannot hover over them reads them so. */
export function useExactTimes(): ReturnType<typeof useSwitch> {
  return useSwitch(EXACT_TIMES);
}
