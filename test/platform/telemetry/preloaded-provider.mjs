/** A script for `node --import`, as an auto-instrumentation is: registers a provider that prints the names of spans. */
import { trace } from '@opentelemetry/api';

const startSpan = (name) => {
  process.stdout.write(`preloaded span ${name}\n`);
  return trace.wrapSpanContext({
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    spanId: '00f067aa0ba902b7',
    traceFlags: 1,
  });
};
const startActiveSpan = (name, ...rest) => rest.at(-1)(startSpan(name));
trace.setGlobalTracerProvider({ getTracer: () => ({ startSpan, startActiveSpan }) });
