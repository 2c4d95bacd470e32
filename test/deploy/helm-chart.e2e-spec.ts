import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { existsSync, readFileSync } from 'node:fs';
import type { Deployment } from 'kubernetes-types/apps/v1.js';
import type { HorizontalPodAutoscaler } from 'kubernetes-types/autoscaling/v2.js';
import type { Job } from 'kubernetes-types/batch/v1.js';
import type { Container, EnvVar, PodTemplateSpec, Service } from 'kubernetes-types/core/v1.js';
import type { Ingress, NetworkPolicy } from 'kubernetes-types/networking/v1.js';
import type { PodDisruptionBudget } from 'kubernetes-types/policy/v1.js';
import { parse } from 'yaml';
import { generateApiKey } from '../../src/core/api-key-value.js';
import { generateEncryptionKey } from '../../src/core/config/encryption-keys.js';
import { readSettings, type Settings } from '../../src/core/config/settings.js';
import { RUNS_OPEN, STREAMS_OPEN } from '../../src/platform/telemetry/names.js';
import { settingNames } from '../support/setting-names.js';
import { ChartRenderer, type Manifest, type Values, withGo } from './chart-renderer.js';
import { typeErrorsOf } from './manifest-types.js';

const MINIMAL = { baseUrl: 'https://signalbox.example.com', existingSecret: 'signalbox' };
const EVERYTHING = {
  ...MINIMAL,
  image: { repository: 'registry.example.com/signalbox', digest: `sha256:${'0'.repeat(64)}` },
  imagePullSecrets: [{ name: 'registry' }],
  settings: {
    BOOTSTRAP_OWNER_EMAIL: 'ada@example.com',
    OIDC_ISSUER: 'https://issuer.example.com',
    OIDC_CLIENT_ID: 'signalbox',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318',
    REDIS_SENTINEL_USERNAME: 'sentinel',
    RUN_TIMEOUT_MS: 3_600_000,
    STDIO_ORGANIZATIONS: '',
    UPSTREAM_ALLOW_PRIVATE: false,
  },
  secrets: {
    DATABASE_URL: { name: 'postgres-app', key: 'uri' },
    BOOTSTRAP_API_KEY: 'api-key',
    BOOTSTRAP_OWNER_PASSWORD: 'owner-password',
    OIDC_CLIENT_SECRET: 'oidc-secret',
    SMTP_URL: 'smtp',
    FILES_S3_URL: 'files-bucket',
    OTEL_EXPORTER_OTLP_HEADERS: 'otlp-headers',
  },
  redis: { enabled: true, sentinelPassword: 'sentinel-password' },
  extraEnv: [{ name: 'NODE_OPTIONS', value: '--max-old-space-size=768' }],
  extraVolumes: [{ name: 'certificates', secret: { secretName: 'redis-tls' } }],
  extraVolumeMounts: [{ name: 'certificates', mountPath: '/certificates', readOnly: true }],
  api: {
    autoscaling: { enabled: true, streams: { enabled: true } },
    podAnnotations: { note: 'api' },
    podLabels: { team: 'platform' },
    nodeSelector: { pool: 'services' },
    tolerations: [{ key: 'services', operator: 'Exists' }],
    affinity: { nodeAffinity: {} },
    priorityClassName: 'high',
  },
  worker: { autoscaling: { enabled: true, runs: { enabled: true } } },
  serviceAccount: { annotations: { note: 'account' } },
  service: { annotations: { note: 'service' } },
  ingress: { enabled: true, className: 'nginx', tlsSecretName: 'signalbox-tls' },
  networkPolicy: {
    apiFrom: [{ namespaceSelector: { matchLabels: { name: 'ingress' } } }],
    metricsFrom: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    database: { to: [{ ipBlock: { cidr: '10.0.0.5/32' } }] },
    redis: { ports: [6379, 26_379] },
    extraEgress: [{ ports: [{ protocol: 'TCP', port: 4318 }] }],
  },
  serviceMonitor: { enabled: true, labels: { release: 'prometheus' } },
  prometheusRule: { enabled: true, labels: { release: 'prometheus' } },
};
const BARE = {
  ...MINIMAL,
  migrations: { enabled: false },
  networkPolicy: { enabled: false },
  serviceAccount: { create: false },
  api: { podDisruptionBudget: { enabled: false } },
  worker: { podDisruptionBudget: { enabled: false } },
};
const SCENARIOS = { MINIMAL, EVERYTHING, BARE };

/** Names that the chart sets itself, and those that make no sense in it. */
const OF_THE_CHART = ['BASE_URL', 'HOST', 'METRICS_HOST', 'METRICS_PORT', 'PORT', 'ROLE'];
const NOT_OFFERED = ['DATA_DIR', 'RETENTION_DAY_MS'];
/** The process exits within 15 s of SIGTERM (docs/operations.md). */
const EXIT_SECONDS = 15;

const SECRETS: Readonly<Record<string, string>> = {
  DATABASE_URL: 'postgres://signalbox:secret@postgres/signalbox',
  ENCRYPTION_KEYS: generateEncryptionKey('main'),
  BOOTSTRAP_API_KEY: generateApiKey(),
  REDIS_URL: 'redis+sentinel://sentinel/master',
  SMTP_URL: 'smtps://mail.example.com',
  FILES_S3_URL: 'https://id:secret@s3.example.com/signalbox',
};

let chart: ChartRenderer;

function render(values: Values): Manifest[] {
  return chart.render(values).manifests;
}

function ofKind<T>(manifests: readonly Manifest[], kind: string): (T & Manifest)[] {
  return manifests.filter((manifest) => manifest.kind === kind) as (T & Manifest)[];
}

/** The pods of the Deployments and of the Job. */
function templates(manifests: readonly Manifest[]): PodTemplateSpec[] {
  const owners = [...ofKind<Deployment>(manifests, 'Deployment'), ...ofKind<Job>(manifests, 'Job')];
  return owners.map(({ spec }) => (spec as { template: PodTemplateSpec }).template);
}

function containerOf(template: PodTemplateSpec): Container & { env: EnvVar[] } {
  const [container, ...others] = template.spec?.containers ?? [];
  expect(others).toEqual([]);
  return container as Container & { env: EnvVar[] };
}

function matches(selector: Record<string, string> | undefined, template: PodTemplateSpec): boolean {
  const { labels = {} } = template.metadata ?? {};
  return Object.entries(selector ?? {}).every(([name, value]) => labels[name] === value);
}

/** The environment that the service gets, with the secrets of this test. */
function settingsOf({ env }: { env: EnvVar[] }): Settings {
  return readSettings(
    Object.fromEntries(env.map(({ name, value }) => [name, value ?? SECRETS[name] ?? 'a secret word'])),
  );
}

/** `signalbox.runs.open` → `signalbox_runs_open`, as Prometheus names it. */
const toPrometheus = (name: string): string => name.replaceAll('.', '_');

withGo('the Helm chart', () => {
  beforeAll(async () => {
    chart = await ChartRenderer.open();
  });
  afterAll(() => chart?.close());

  describe.each(Object.entries(SCENARIOS))('with the values %s', (_name, values) => {
    it('renders what the API of Kubernetes accepts', () => {
      const manifests = render(values);
      expect(typeErrorsOf(manifests)).toEqual([]);
      expect(new Set(manifests.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).size).toBe(manifests.length);
      for (const { metadata } of manifests) expect(metadata.name).toMatch(/^box-signalbox/);
    });

    it('sets only settings that the service has, and that it accepts', () => {
      const extra = ['NODE_OPTIONS', 'OTEL_EXPORTER_OTLP_HEADERS'];
      for (const template of templates(render(values))) {
        const container = containerOf(template);
        const names = container.env.map(({ name }) => name);
        expect(names.filter((name) => !settingNames().includes(name) && !extra.includes(name))).toEqual([]);
        expect(new Set(names).size).toBe(names.length);
        expect(settingsOf(container)).toMatchObject({ port: 3000, metricsPort: 9464, baseUrl: MINIMAL.baseUrl });
      }
    });

    it('contains secrets as references only', () => {
      const manifests = render(values);
      expect(manifests.filter(({ kind }) => kind === 'Secret')).toEqual([]);
      for (const template of templates(manifests)) {
        const { env } = containerOf(template);
        for (const { name, valueFrom } of env.filter(({ name }) => isSecret(name))) {
          expect({ name, key: valueFrom?.secretKeyRef?.key }).toEqual({ name, key: expect.any(String) });
        }
        expect(env.filter(({ value, valueFrom }) => value === undefined && valueFrom === undefined)).toEqual([]);
      }
    });

    it('runs as an ordinary user, without a token, on a file system that it cannot write to', () => {
      const manifests = render(values);
      expect(templates(manifests).length).toBe(values === BARE ? 2 : 3);
      for (const template of templates(manifests)) {
        expect(template.spec).toMatchObject({
          automountServiceAccountToken: false,
          securityContext: { runAsNonRoot: true, runAsUser: 1000, seccompProfile: { type: 'RuntimeDefault' } },
        });
        const { securityContext, volumeMounts = [], resources } = containerOf(template);
        expect(securityContext).toEqual({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
        expect(volumeMounts.filter(({ readOnly }) => readOnly !== true).map(({ mountPath }) => mountPath)).toEqual([
          '/tmp',
        ]);
        expect(resources).toMatchObject({
          requests: { cpu: expect.any(String) },
          limits: { memory: expect.any(String) },
        });
        const mounted = new Set(volumeMounts.map(({ name }) => name));
        expect(new Set(template.spec?.volumes?.map(({ name }) => name))).toEqual(mounted);
      }
    });

    it('gives each process the time to stop', () => {
      for (const { spec } of ofKind<Deployment>(render(values), 'Deployment')) {
        const pod = spec?.template.spec;
        const [, wait = '0'] = pod?.containers[0]?.lifecycle?.preStop?.exec?.command ?? [];
        expect(pod?.terminationGracePeriodSeconds ?? 0).toBeGreaterThanOrEqual(Number(wait) + EXIT_SECONDS + 5);
      }
    });

    it('probes the health endpoints', () => {
      for (const { spec } of ofKind<Deployment>(render(values), 'Deployment')) {
        const container = containerOf(spec?.template as PodTemplateSpec);
        expect(container.startupProbe?.httpGet).toEqual({ path: '/health/live', port: 'http' });
        expect(container.livenessProbe?.httpGet).toEqual({ path: '/health/live', port: 'http' });
        expect(container.readinessProbe?.httpGet).toEqual({ path: '/health/ready', port: 'http' });
      }
    });

    it('selects the pods that it creates', () => {
      const manifests = render(values);
      const pods = templates(manifests);
      for (const { spec } of ofKind<Deployment>(manifests, 'Deployment')) {
        expect(pods.filter((pod) => matches(spec?.selector.matchLabels, pod))).toEqual([spec?.template]);
      }
      for (const { spec } of ofKind<Service>(manifests, 'Service')) {
        const chosen = pods.filter((pod) => matches(spec?.selector, pod));
        const served = chosen.filter(({ spec }) => spec?.containers[0]?.ports !== undefined);
        expect(served.length).toBeGreaterThan(0);
        for (const pod of served) {
          const ports = containerOf(pod).ports?.map(({ name }) => name);
          for (const { targetPort } of spec?.ports ?? []) expect(ports).toContain(targetPort);
        }
      }
      const exclusive = [
        ...ofKind<PodDisruptionBudget>(manifests, 'PodDisruptionBudget').map(({ spec }) => spec?.selector),
        ...ofKind<NetworkPolicy>(manifests, 'NetworkPolicy').map(({ spec }) => spec?.podSelector),
      ];
      for (const selector of exclusive) {
        expect(pods.filter((pod) => matches(selector?.matchLabels, pod))).toHaveLength(1);
      }
      const deployments = new Set(ofKind<Deployment>(manifests, 'Deployment').map(({ metadata }) => metadata.name));
      for (const { spec } of ofKind<HorizontalPodAutoscaler>(manifests, 'HorizontalPodAutoscaler')) {
        expect(deployments).toContain(spec?.scaleTargetRef.name);
      }
    });
  });

  it('migrates in a hook that needs nothing of the chart', () => {
    const [job] = ofKind<Job>(render(EVERYTHING), 'Job');
    expect(job?.metadata.annotations).toMatchObject({ 'helm.sh/hook': 'pre-install,pre-upgrade' });
    expect(job?.spec?.template.spec?.serviceAccountName).toBeUndefined();
    const [node, file = ''] = containerOf(job?.spec?.template as PodTemplateSpec).command ?? [];
    expect(node).toBe('node');
    expect(existsSync(new URL(`../../${file}`, import.meta.url))).toBe(true);
    expect(ofKind(render(BARE), 'Job')).toEqual([]);
  });

  it('scales by metrics that the service exports', () => {
    const manifests = render(EVERYTHING);
    const metrics = ofKind<HorizontalPodAutoscaler>(manifests, 'HorizontalPodAutoscaler').map(({ spec }) =>
      spec?.metrics?.map(({ resource, pods, external }) => resource?.name ?? pods?.metric.name ?? external?.metric),
    );
    const [rule] = ofKind<{ spec: { groups: { rules: { record: string; expr: string; labels: object }[] }[] } }>(
      manifests,
      'PrometheusRule',
    );
    const [{ record, expr, labels } = { record: '', expr: '', labels: {} }] = rule?.spec.groups[0]?.rules ?? [];
    expect(metrics).toEqual([
      ['cpu', toPrometheus(STREAMS_OPEN)],
      ['cpu', { name: record, selector: { matchLabels: labels } }],
    ]);
    expect(expr).toContain(`${toPrometheus(RUNS_OPEN)}{namespace="production"`);
    // A Deployment with a number of its own would fight with the autoscaler.
    for (const { spec } of ofKind<Deployment>(manifests, 'Deployment')) expect(spec?.replicas).toBeUndefined();
    for (const { spec } of ofKind<Deployment>(render(MINIMAL), 'Deployment')) expect(spec?.replicas).toBe(2);
  });

  it('lets Prometheus find every process', () => {
    const manifests = render(EVERYTHING);
    const [monitor] = ofKind<{
      spec: { selector: { matchLabels: Record<string, string> }; endpoints: { port: string; path: string }[] };
    }>(manifests, 'ServiceMonitor');
    const found = ofKind<Service>(manifests, 'Service').filter(({ metadata }) =>
      Object.entries(monitor?.spec.selector.matchLabels ?? {}).every(
        ([name, value]) => metadata.labels?.[name] === value,
      ),
    );
    expect(found.map(({ metadata }) => metadata.name)).toEqual(['box-signalbox-metrics']);
    expect(monitor?.spec.endpoints).toMatchObject([{ port: found[0]?.spec?.ports?.[0]?.name, path: '/metrics' }]);
    const pods = templates(manifests).filter((pod) => matches(found[0]?.spec?.selector, pod));
    expect(pods.map((pod) => containerOf(pod).name)).toEqual(expect.arrayContaining(['api', 'worker']));
  });

  it('leaves streams open at the ingress', () => {
    const [ingress] = ofKind<Ingress>(render(EVERYTHING), 'Ingress');
    expect(ingress?.metadata.annotations).toMatchObject({
      'nginx.ingress.kubernetes.io/proxy-buffering': 'off',
      'nginx.ingress.kubernetes.io/proxy-read-timeout': '3600',
    });
    expect(ingress?.spec?.rules?.[0]?.host).toBe('signalbox.example.com');
    expect(ingress?.spec?.tls).toEqual([{ hosts: ['signalbox.example.com'], secretName: 'signalbox-tls' }]);
  });

  it('opens the network to the database, Redis, DNS and public addresses', () => {
    const ports = (values: Values): unknown[] =>
      ofKind<NetworkPolicy>(render(values), 'NetworkPolicy').map(({ metadata, spec }) => [
        metadata.labels?.['app.kubernetes.io/component'],
        spec?.ingress?.flatMap(({ ports }) => ports?.map(({ port }) => port)),
        spec?.egress?.flatMap(({ ports }) => ports?.map(({ port }) => port)),
      ]);
    expect(ports(MINIMAL)).toEqual([
      ['api', ['http', 'metrics'], [53, 53, 5432, 443]],
      ['worker', ['metrics'], [53, 53, 5432, 443]],
      ['migrate', [], [53, 53, 5432]],
    ]);
    expect(ports(EVERYTHING)).toEqual([
      ['api', ['http', 'metrics'], [53, 53, 5432, 6379, 26_379, 443, 4318]],
      ['worker', ['metrics'], [53, 53, 5432, 6379, 26_379, 443, 4318]],
      ['migrate', [], [53, 53, 5432]],
    ]);
    expect(ofKind(render(BARE), 'NetworkPolicy')).toEqual([]);
  });

  it.each<[string, RegExp, Values]>([
    ['no baseUrl', /Set baseUrl/, { existingSecret: 'signalbox' }],
    ['no secret', /Set existingSecret: the Secret with DATABASE_URL/, { baseUrl: MINIMAL.baseUrl }],
    ['a path in baseUrl', /\/baseUrl/, { ...MINIMAL, baseUrl: 'https://example.com/signalbox' }],
    ['an unknown setting', /RUN_CONCURENCY/, { ...MINIMAL, settings: { RUN_CONCURENCY: 10 } }],
    ['a secret among the settings', /DATABASE_URL/, { ...MINIMAL, settings: { DATABASE_URL: 'postgres://a:b@c/d' } }],
    [
      'a secret of OpenTelemetry among the settings',
      /OTEL_EXPORTER_OTLP_HEADERS/,
      { ...MINIMAL, settings: { OTEL_EXPORTER_OTLP_HEADERS: 'authorization=secret' } },
    ],
    ['an unknown value', /replicaCount/, { ...MINIMAL, api: { replicaCount: 3 } }],
    ['a fraction', /RUN_CONCURRENCY/, { ...MINIMAL, settings: { RUN_CONCURRENCY: 0.5 } }],
  ])('rejects %s', (_case, message, values) => {
    expect(() => render(values)).toThrow(message);
  });

  it('says where the first key is, unless one is given', () => {
    expect(chart.render(MINIMAL).notes).toContain('--namespace production logs');
    expect(chart.render(EVERYTHING).notes).not.toContain('logs');
  });

  it('fails these checks with wrong manifests', () => {
    const [deployment] = ofKind<Deployment>(render(MINIMAL), 'Deployment');
    const { spec, ...rest } = deployment as Deployment & Manifest;
    expect(typeErrorsOf([{ ...rest, spec: { ...spec, replica: 2 } } as Manifest]).join()).toContain('"replica"');
    expect(typeErrorsOf([{ ...rest, spec: { ...spec, replicas: '2' } } as Manifest]).join()).toContain("'number'");
    expect(typeErrorsOf([{ ...rest, spec: { template: spec?.template } } as Manifest]).join()).toContain("'selector'");
  });
});

describe('the values of the Helm chart', () => {
  const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

  it('know every setting of the service', () => {
    const { properties } = JSON.parse(read('deploy/helm/signalbox/values.schema.json')) as {
      properties: Record<'settings' | 'secrets', { properties: Record<string, unknown> }>;
    };
    const known = [
      ...Object.keys(properties.settings.properties),
      ...Object.keys(properties.secrets.properties),
      'REDIS_URL',
      'REDIS_SENTINEL_PASSWORD',
      ...OF_THE_CHART,
      ...NOT_OFFERED,
    ].filter((name) => !name.startsWith('OTEL_'));
    expect(known.toSorted()).toEqual(settingNames().filter((name) => !name.startsWith('OTEL_')));
  });

  it('have the version of the package', () => {
    const { version } = JSON.parse(read('package.json')) as { version: string };
    expect(parse(read('deploy/helm/signalbox/Chart.yaml'))).toMatchObject({ version, appVersion: version });
  });
});

function isSecret(name: string): boolean {
  return name in SECRETS || /PASSWORD|SECRET|_HEADERS$/.test(name);
}
