import type { Meter } from '@opentelemetry/api';
import { performance } from 'node:perf_hooks';
import { CPU_MODE, EVENT_LOOP_STATE, EVENT_LOOP_TIME, PROCESS_CPU_TIME, PROCESS_MEMORY_USAGE } from './names.js';

/** The state of this process, read when somebody asks: CPU time, memory, and how busy the event loop was. */
export function observeProcess(meter: Meter): void {
  meter
    .createObservableCounter(PROCESS_CPU_TIME, { unit: 's', description: 'CPU time of this process.' })
    .addCallback((result) => {
      const { user, system } = process.cpuUsage();
      result.observe(user / 1_000_000, { [CPU_MODE]: 'user' });
      result.observe(system / 1_000_000, { [CPU_MODE]: 'system' });
    });
  meter
    .createObservableUpDownCounter(PROCESS_MEMORY_USAGE, {
      unit: 'By',
      description: 'Resident memory of this process.',
    })
    .addCallback((result) => result.observe(process.memoryUsage.rss()));
  meter
    .createObservableCounter(EVENT_LOOP_TIME, { unit: 's', description: 'Time of the event loop, active and idle.' })
    .addCallback((result) => {
      const { active, idle } = performance.eventLoopUtilization();
      result.observe(active / 1000, { [EVENT_LOOP_STATE]: 'active' });
      result.observe(idle / 1000, { [EVENT_LOOP_STATE]: 'idle' });
    });
}
