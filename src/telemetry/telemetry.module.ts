import { Module } from '@nestjs/common';
import { CallLedger } from './call-ledger.js';
import { MetricsExport } from './metrics-export.js';
import { ProxyMetrics } from './proxy-metrics.js';
import { ProxyTelemetry } from './proxy-telemetry.js';
import { Tracing } from './tracing.js';
import { UnavailableLedger } from './unavailable-ledger.js';

@Module({
  providers: [CallLedger, ProxyMetrics, MetricsExport, Tracing, ProxyTelemetry, UnavailableLedger],
  exports: [ProxyTelemetry, UnavailableLedger],
})
export class TelemetryModule {}
