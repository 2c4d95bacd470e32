import { useState } from 'react';
import type { ListItem } from '../../../../packages/client/src/api.js';
import { useFilters } from '../../api/filters.js';
import { contains, useChange, useList, useTool } from '../../api/queries.js';
import { grant } from '../../permissions/permission-map.js';
import { PermissionWords } from '../../permissions/permission-words.js';
import { FilterSearch } from '../../records/filter-fields.js';
import { useOrganization } from '../../session/organization.js';
import type { PermissionMap } from '../../session/session.js';
import { useSession } from '../../session/session-context.js';
import { StatusBadge } from '../../ui/badge.js';
import { Button } from '../../ui/button.js';
import type { Column } from '../../ui/data-table.js';
import { ConfirmButton } from '../../ui/dialog.js';
import { SelectField, TextField } from '../../ui/field.js';
import { FormDialog } from '../../ui/form-dialog.js';
import { ListView } from '../../ui/list-view.js';
import { Section } from '../../ui/page.js';
import { EmptyState, ErrorMessage } from '../../ui/states.js';
import { Time } from '../../ui/time.js';
import { useToast } from '../../ui/toast.js';
import { MemberSpend } from './member-spend.js';
import { OneTimeValue } from './one-time-value.js';

type Member = ListItem<'MEMBER_LIST'>;

const BUILT_IN = ['owner', 'admin', 'member'];

/** Members and invitations. */
export function MembersSection() {
  const { may } = useOrganization();
  const [{ email = '', edit }, filter] = useFilters();
  const [invitation, setInvitation] = useState<string>();
  const list = useList('MEMBER_LIST', {
    where: contains(email, 'email'),
  });
  const roles = useRoleOptions();
  const columns: readonly Column<Member>[] = [
    {
      header: 'Member',
      cell: (member) => (
        <div className="flex flex-col">
          <span className="font-medium break-words">{member.name ?? member.email}</span>
          {member.name !== null && (
            <span className="text-[0.8125rem] break-all text-muted-foreground">{member.email}</span>
          )}
        </div>
      ),
    },
    { header: 'Role', cell: (member) => <Role member={member} roles={roles} /> },
    { header: 'Status', cell: ({ status }) => <StatusBadge status={status} /> },
    { header: 'Since', isSecondary: true, cell: ({ created_at: at }) => <Time value={at} /> },
    { header: 'Actions', isBelow: true, cell: (member) => <MemberActions member={member} /> },
  ];
  return (
    <Section
      title="Members"
      actions={may('MEMBER_INVITE') && <Button onClick={() => filter({ edit: 'new' })}>Invite member</Button>}
    >
      <p className="text-sm text-muted-foreground">
        Owners and admins can do everything. Members can do what their role and the organization’s settings say.
      </p>
      <FilterSearch name="email" label="Search by e-mail address" />
      <ListView
        label="Members"
        list={list}
        columns={columns}
        keyOf={({ id }) => id}
        empty={<EmptyState title={email === '' ? 'There are no members yet.' : 'No member matches.'} />}
      />
      {edit === 'new' && may('MEMBER_INVITE') && (
        <InviteDialog roles={roles} onClose={() => filter({ edit: undefined })} onInvited={setInvitation} />
      )}
      <OneTimeValue
        title="Invitation"
        label="Invitation link"
        value={invitation}
        onClose={() => setInvitation(undefined)}
      >
        Send this link to the person. It works once, for 7 days; nobody can see it again here. If the service sends
        mail, it was mailed too.
      </OneTimeValue>
    </Section>
  );
}

/** The roles that a member can have. */
function useRoleOptions() {
  const { may } = useOrganization();
  const { data } = useTool('ROLE_LIST', {}, { isEnabled: may('ROLE_LIST') });
  const names = data?.items.map(({ name }) => name) ?? BUILT_IN;
  return names.map((name) => ({ value: name, label: name }));
}

interface RoleOptions {
  readonly roles: readonly { readonly value: string; readonly label: string }[];
}

function Role({ member, roles }: RoleOptions & { readonly member: Member }) {
  const { may } = useOrganization();
  const { session } = useSession();
  const update = useChange('MEMBER_UPDATE', ['MEMBER_LIST']);
  const say = useToast();
  // Nobody changes their own role.
  if (!may('MEMBER_UPDATE') || (member.user_id !== null && member.user_id === session.user?.id))
    return <>{member.role}</>;
  const change = (role: string, before: string): void =>
    update.mutate(
      { id: member.id, role },
      {
        onSuccess: () =>
          say(`${member.email} is now ${role}.`, {
            undo: () => update.mutate({ id: member.id, role: before }),
          }),
      },
    );
  return (
    <div className="min-w-28">
      <SelectField
        label={`Role of ${member.email}`}
        isLabelHidden
        value={member.role}
        disabled={update.isPending}
        options={roles}
        onChange={(role) => change(role, member.role)}
      />
      <ErrorMessage error={update.error} />
    </div>
  );
}

function MemberActions({ member }: { readonly member: Member }) {
  const { may } = useOrganization();
  const [link, setLink] = useState<string>();
  const remove = useChange('MEMBER_REMOVE', ['MEMBER_LIST']);
  const reset = useChange('MEMBER_RESET', []);
  const say = useToast();
  const isInvited = member.status === 'invited';
  return (
    <div className="flex flex-wrap gap-2">
      {may('MEMBER_UPDATE') && !isInvited && <MemberSpend member={member} />}
      {may('MEMBER_RESET') && !isInvited && (
        <Button
          variant="secondary"
          size="small"
          isBusy={reset.isPending}
          aria-label={`Reset password of ${member.email}`}
          onClick={() =>
            reset.mutate(
              { id: member.id },
              {
                onSuccess: ({ reset_url: url }) =>
                  url === null ? say(`A link was mailed to ${member.email}.`) : setLink(url),
              },
            )
          }
        >
          Reset password
        </Button>
      )}
      {may('MEMBER_REMOVE') && (
        <ConfirmButton
          label={isInvited ? 'Withdraw invitation' : 'Remove member'}
          size="small"
          title={isInvited ? `Withdraw the invitation of ${member.email}?` : `Remove ${member.email}?`}
          onConfirm={() => remove.mutateAsync({ id: member.id })}
        >
          <p>
            {isInvited
              ? 'The link stops working.'
              : 'The keys that this person made, and sign-ins of programs, end within a second. The account itself ' +
                'stays.'}
          </p>
        </ConfirmButton>
      )}
      <ErrorMessage error={reset.error} />
      <OneTimeValue title="New password" label="Reset link" value={link} onClose={() => setLink(undefined)}>
        Send this link to {member.email}. It sets a new password, once, within 24 hours.
      </OneTimeValue>
    </div>
  );
}

/** What a person with the role can do, so that nobody is invited to an empty console by mistake. */
function RoleInWords({ role }: { readonly role: string }) {
  const { may } = useOrganization();
  const roles = useTool('ROLE_LIST', {}, { isEnabled: may('ROLE_LIST') });
  const organization = useTool('ORGANIZATION_GET', {}, { isEnabled: may('ORGANIZATION_GET') });
  const own = roles.data?.items.find(({ name }) => name === role)?.permissions;
  const everybodys = organization.data?.item.member_permissions;
  if (own === undefined || everybodys === undefined) return null;
  const permissions = Object.entries(everybodys).reduce<PermissionMap>(
    (map, [resource, names]) => grant(map, resource, names),
    own,
  );
  return (
    <div className="flex flex-col gap-1">
      <PermissionWords permissions={permissions} subject="This person" />
      {Object.values(permissions).every((names) => names.length === 0) && (
        <p className="text-sm text-warning">
          They can sign in, but the console shows them nothing. Choose another role, create one under Roles, or give
          every member permissions under Organization.
        </p>
      )}
    </div>
  );
}

function InviteDialog({
  roles,
  onClose,
  onInvited,
}: RoleOptions & { readonly onClose: () => void; readonly onInvited: (url: string) => void }) {
  const [email, setEmail] = useState('');
  const [role, setRole] = useState('member');
  const invite = useChange('MEMBER_INVITE', ['MEMBER_LIST']);
  return (
    <FormDialog
      title="Invite member"
      submitLabel="Invite member"
      onClose={onClose}
      onSubmit={async () => onInvited((await invite.mutateAsync({ email: email.trim(), role })).invitation_url)}
    >
      <TextField
        label="E-mail address"
        path="email"
        type="email"
        required
        value={email}
        onChange={setEmail}
        autoFocus
      />
      <SelectField label="Role" path="role" value={role} options={roles} onChange={setRole} />
      <RoleInWords role={role} />
    </FormDialog>
  );
}
