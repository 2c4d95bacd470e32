import { PeriodField } from '../../charts/period.js';
import { useFilters } from '../../api/filters.js';
import { useOrganization } from '../../session/organization.js';
import { Page } from '../../ui/page.js';
import { NoPermission } from '../../ui/states.js';
import { Tabs } from '../../ui/tabs.js';
import { AuditEvents } from './audit-events.js';
import { CallRecord } from './call-record.js';
import { CallStatistics } from './call-statistics.js';
import { CallsList } from './calls-list.js';
import { EventRecord } from './event-record.js';

/** What happened: each call of a tool, statistics of them, and changes that people and keys made. */
export function MonitoringView() {
  const [{ tab = 'calls', record, event }, filter] = useFilters();
  const { may } = useOrganization();
  return (
    <Page
      title="Monitoring"
      description="Every call of a tool and every change of the organization is on record."
      actions={tab === 'statistics' ? <PeriodField /> : undefined}
    >
      <Tabs
        label="Monitoring"
        selected={tab}
        // Each list has filters of its own.
        onSelect={(id) => filter({ ...NO_FILTERS, tab: id === 'calls' ? undefined : id })}
        tabs={[
          {
            id: 'calls',
            label: 'Tool calls',
            content: () => (may('MONITORING_LOGS_LIST') ? <CallsList /> : <NoPermission />),
          },
          {
            id: 'statistics',
            label: 'Statistics',
            content: () => (may('MONITORING_STATS') ? <CallStatistics /> : <NoPermission />),
          },
          {
            id: 'events',
            label: 'Audit events',
            content: () => (may('AUDIT_EVENTS_LIST') ? <AuditEvents /> : <NoPermission />),
          },
        ]}
      />
      <CallRecord id={record} onClose={() => filter({ record: undefined })} />
      <EventRecord id={event} onClose={() => filter({ event: undefined })} />
    </Page>
  );
}

const NO_FILTERS = {
  tool: undefined,
  status: undefined,
  door: undefined,
  calls: undefined,
  by: undefined,
  connection: undefined,
  agent: undefined,
  key: undefined,
  person: undefined,
  within: undefined,
  from: undefined,
  to: undefined,
  kind: undefined,
  target: undefined,
  slowest: undefined,
  percentile: undefined,
};
