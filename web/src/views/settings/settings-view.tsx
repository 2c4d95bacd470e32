import { Link, useParams } from '@tanstack/react-router';
import type { ComponentType } from 'react';
import { useOrganization } from '../../session/organization.js';
import { SETTINGS } from '../../shell/navigation.js';
import { Page } from '../../ui/page.js';
import { useShownInRow } from '../../ui/shown-in-row.js';
import { EmptyState, NoPermission } from '../../ui/states.js';
import { FilesSection } from './files-section.js';
import { LimitsSection } from './limits-section.js';
import { MembersSection } from './members-section.js';
import { ModelsSection } from './models-section.js';
import { OauthSection } from './oauth-section.js';
import { OrganizationSection } from './organization-section.js';
import { RolesSection } from './roles-section.js';
import { SchedulesSection } from './schedules-section.js';
import { WebhooksSection } from './webhooks-section.js';

const CONTENTS: Readonly<Record<(typeof SETTINGS)[number]['id'], ComponentType>> = {
  models: ModelsSection,
  members: MembersSection,
  roles: RolesSection,
  organization: OrganizationSection,
  limits: LimitsSection,
  files: FilesSection,
  webhooks: WebhooksSection,
  schedules: SchedulesSection,
  oauth: OauthSection,
};

/** What is set for the whole organization, by section. */
export function SettingsView() {
  const { org, section: chosen } = useParams({ strict: false });
  const { may } = useOrganization();
  const isOpen = ({ needs }: (typeof SETTINGS)[number]): boolean => needs.some(may);
  const section =
    SETTINGS.find(({ id }) => id === chosen) ?? (chosen ? undefined : (SETTINGS.find(isOpen) ?? SETTINGS[0]));
  const Content = section && CONTENTS[section.id];
  const row = useShownInRow<HTMLUListElement>(section?.id);
  return (
    <Page title="Settings" description="What is set for the whole organization.">
      <div className="grid min-w-0 grid-cols-1 gap-5 lg:grid-cols-[12rem_minmax(0,1fr)]">
        <nav aria-label="Settings" className="min-w-0">
          <ul ref={row} className="scrolling-row flex gap-1 overflow-x-auto pb-1 lg:flex-col lg:gap-0.5 lg:pb-0">
            {SETTINGS.map(({ id, title }) => (
              <li key={id}>
                <Link
                  to="/$org/settings/$section"
                  params={{ org: org ?? '', section: id }}
                  aria-current={section?.id === id ? 'page' : undefined}
                  className="block rounded-md px-2 py-1.5 pointer-coarse:py-3 text-sm whitespace-nowrap hover:bg-muted aria-[current=page]:bg-accent aria-[current=page]:font-medium aria-[current=page]:text-accent-foreground"
                >
                  {title}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div className="flex min-w-0 flex-col gap-5">
          {section === undefined && <EmptyState title="There are no such settings." />}
          {section && Content && (isOpen(section) ? <Content key={section.id} /> : <NoPermission />)}
        </div>
      </div>
    </Page>
  );
}
