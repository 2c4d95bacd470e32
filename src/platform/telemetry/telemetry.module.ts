import { Module } from '@nestjs/common';
import { CallLedger, ProxyMetrics } from './proxy-metrics.js';
import { DatabasePoolMetrics } from './database-pool-metrics.js';
import { FileTelemetry } from './file-telemetry.js';
import { HttpMetrics, HttpTelemetry } from './http-telemetry.js';
import { MetricsExport } from './metrics-export.js';
import { OpenStreams } from './open-streams.js';
import { ProxyTelemetry } from './proxy-telemetry.js';
import { RunMetrics } from './run-metrics.js';
import { RunTelemetry } from './run-telemetry.js';
import { UnavailableLedger } from './unavailable-ledger.js';

@Module({
  providers: [
    CallLedger,
    ProxyMetrics,
    MetricsExport,
    ProxyTelemetry,
    UnavailableLedger,
    RunMetrics,
    RunTelemetry,
    HttpTelemetry,
    HttpMetrics,
    OpenStreams,
    FileTelemetry,
    DatabasePoolMetrics,
  ],
  exports: [ProxyTelemetry, UnavailableLedger, RunTelemetry, HttpTelemetry, OpenStreams, FileTelemetry],
})
export class TelemetryModule {}
