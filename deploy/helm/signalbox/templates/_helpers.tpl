{{- define "signalbox.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" -}}
{{- end -}}

{{/* The longest suffix is "-migrate", and labels have at most 63 characters. */}}
{{- define "signalbox.fullname" -}}
{{- $name := include "signalbox.name" . -}}
{{- $full := ternary .Release.Name (printf "%s-%s" .Release.Name $name) (contains $name .Release.Name) -}}
{{- default $full .Values.fullnameOverride | trunc 50 | trimSuffix "-" -}}
{{- end -}}

{{/* What never changes between versions: selectors are immutable. Argument: {root, component}. */}}
{{- define "signalbox.selectorLabels" -}}
app.kubernetes.io/name: {{ include "signalbox.name" .root }}
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end -}}

{{- define "signalbox.labels" -}}
{{ include "signalbox.selectorLabels" . }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{- end -}}

{{- define "signalbox.serviceAccountName" -}}
{{- if .Values.serviceAccount.create -}}
{{- default (include "signalbox.fullname" .) .Values.serviceAccount.name -}}
{{- else -}}
{{- default "default" .Values.serviceAccount.name -}}
{{- end -}}
{{- end -}}

{{- define "signalbox.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ default .Chart.AppVersion .Values.image.tag }}
{{- end -}}
{{- end -}}

{{/* One variable from a Secret. Argument: {root, variable, reference}. */}}
{{- define "signalbox.secretVariable" -}}
{{- $reference := .reference -}}
{{- if kindIs "string" $reference -}}
{{- $name := required (printf "Set existingSecret: the Secret with %s (docs/kubernetes.md)." .variable) .root.Values.existingSecret -}}
{{- $reference = dict "name" $name "key" $reference -}}
{{- end -}}
- name: {{ .variable }}
  valueFrom:
    secretKeyRef:
      name: {{ $reference.name }}
      key: {{ $reference.key }}
{{- end -}}

{{/* The environment of every container. Argument: {root, role}. */}}
{{- define "signalbox.env" -}}
{{- $root := .root -}}
{{- $values := .root.Values -}}
- name: ROLE
  value: {{ .role }}
- name: HOST
  value: {{ $values.bindAddress | quote }}
- name: PORT
  value: "3000"
- name: BASE_URL
  value: {{ required "Set baseUrl: the origin that callers use, such as https://signalbox.example.com." $values.baseUrl | quote }}
- name: METRICS_HOST
  value: {{ $values.bindAddress | quote }}
- name: METRICS_PORT
  value: "9464"
{{- range $name, $value := $values.settings }}
- name: {{ $name }}
  {{- /* Numbers of values arrive as floating-point numbers. */}}
  value: {{ ternary (int64 $value | toString) (toString $value) (kindIs "float64" $value) | quote }}
{{- end }}
{{- $secrets := deepCopy $values.secrets }}
{{- if $values.redis.enabled }}
{{- $secrets = merge $secrets (dict "REDIS_URL" $values.redis.url "REDIS_SENTINEL_PASSWORD" $values.redis.sentinelPassword) }}
{{- end }}
{{- range $variable, $reference := $secrets }}
{{- if $reference }}
{{ include "signalbox.secretVariable" (dict "root" $root "variable" $variable "reference" $reference) }}
{{- end }}
{{- end }}
{{- with $values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "signalbox.securityContext" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end -}}

{{- define "signalbox.volumeMounts" -}}
- name: tmp
  mountPath: /tmp
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{- define "signalbox.volumes" -}}
- name: tmp
  emptyDir:
    medium: Memory
    sizeLimit: {{ .Values.tmpSizeLimit }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* The Deployment of a role. Argument: {root, role, values, stopSeconds, drainSeconds}. */}}
{{- define "signalbox.deployment" -}}
{{- $root := .root -}}
{{- $labels := dict "root" .root "component" .role -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "signalbox.fullname" .root }}-{{ .role }}
  labels: {{- include "signalbox.labels" $labels | nindent 4 }}
spec:
  {{- if not .values.autoscaling.enabled }}
  replicas: {{ .values.replicas }}
  {{- end }}
  selector:
    matchLabels: {{- include "signalbox.selectorLabels" $labels | nindent 6 }}
  strategy:
    type: RollingUpdate
    rollingUpdate: { maxSurge: 1, maxUnavailable: 0 }
  template:
    metadata:
      labels:
        {{- include "signalbox.labels" $labels | nindent 8 }}
        {{- with .values.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
      {{- with .values.podAnnotations }}
      annotations: {{- toYaml . | nindent 8 }}
      {{- end }}
    spec:
      serviceAccountName: {{ include "signalbox.serviceAccountName" .root }}
      automountServiceAccountToken: false
      enableServiceLinks: false
      {{- with .root.Values.imagePullSecrets }}
      imagePullSecrets: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      securityContext: {{- toYaml .root.Values.podSecurityContext | nindent 8 }}
      # The process exits within 15 s of SIGTERM, of which runs can continue for 8 s.
      terminationGracePeriodSeconds: {{ add .stopSeconds .drainSeconds }}
      topologySpreadConstraints:
        {{- range $key := list "topology.kubernetes.io/zone" "kubernetes.io/hostname" }}
        - maxSkew: 1
          topologyKey: {{ $key }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: {{- include "signalbox.selectorLabels" $labels | nindent 14 }}
        {{- end }}
      containers:
        - name: {{ .role }}
          image: {{ include "signalbox.image" .root | quote }}
          imagePullPolicy: {{ .root.Values.image.pullPolicy }}
          env: {{- include "signalbox.env" (dict "root" .root "role" .role) | nindent 12 }}
          ports:
            - { name: http, containerPort: 3000, protocol: TCP }
            - { name: metrics, containerPort: 9464, protocol: TCP }
          # A start waits for the migrations of another process.
          startupProbe:
            httpGet: { path: /health/live, port: http }
            periodSeconds: 2
            failureThreshold: 150
          livenessProbe:
            httpGet: { path: /health/live, port: http }
            periodSeconds: 10
            timeoutSeconds: 3
            failureThreshold: 3
          readinessProbe:
            httpGet: { path: /health/ready, port: http }
            periodSeconds: 5
            timeoutSeconds: 3
            failureThreshold: 2
          {{- if .drainSeconds }}
          # Until load balancers have noticed the end, the process accepts requests.
          lifecycle:
            preStop:
              exec: { command: [sleep, {{ .drainSeconds | quote }}] }
          {{- end }}
          resources: {{- toYaml .values.resources | nindent 12 }}
          securityContext: {{- include "signalbox.securityContext" .root | nindent 12 }}
          volumeMounts: {{- include "signalbox.volumeMounts" .root | nindent 12 }}
      volumes: {{- include "signalbox.volumes" .root | nindent 8 }}
      {{- with .values.nodeSelector }}
      nodeSelector: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.tolerations }}
      tolerations: {{- toYaml . | nindent 8 }}
      {{- end }}
      {{- with .values.affinity }}
      affinity: {{- toYaml . | nindent 8 }}
      {{- end }}
{{- end -}}

{{/* Access to a store. Argument: {to, ports}. */}}
{{- define "signalbox.storeEgress" -}}
- {{- with .to }}
  to: {{- toYaml . | nindent 4 }}
  {{- end }}
  ports:
    {{- range .ports }}
    - { protocol: TCP, port: {{ . }} }
    {{- end }}
{{- end -}}

{{- define "signalbox.cpuMetric" -}}
- type: Resource
  resource:
    name: cpu
    target: { type: Utilization, averageUtilization: {{ . }} }
{{- end -}}
