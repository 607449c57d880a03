import { ApplicationsService } from '@tessera/proto-gen/admin-applications';
import { AuditService } from '@tessera/proto-gen/admin-audit';
import { DeclaredStateService } from '@tessera/proto-gen/admin-declared_state';
import { ResourcesService } from '@tessera/proto-gen/admin-resources';
import { RolesService } from '@tessera/proto-gen/admin-roles';
import { TenantsService } from '@tessera/proto-gen/admin-tenants';
import { applicationPage } from './pages/applications/application-page.ts';
import {
  disableApplicationPage,
  enableApplicationPage,
} from './pages/applications/application-status-page.ts';
import { applicationWordsPage } from './pages/applications/application-words-page.ts';
import { applicationsPage } from './pages/applications/applications-page.ts';
import { deleteApplicationPage } from './pages/applications/delete-application-page.ts';
import {
  deletedApplicationsPage,
  restoreApplicationPage,
} from './pages/applications/deleted-applications-pages.ts';
import { editApplicationPage } from './pages/applications/edit-application-page.ts';
import { kindsPage, newApplicationPage } from './pages/applications/new-application-page.ts';
import { newSecretPage } from './pages/applications/new-secret-page.ts';
import { removeSecretPage } from './pages/applications/remove-secret-page.ts';
import {
  deleteApiPage,
  editApiPage,
  newApiPage,
  newScopePage,
  removeScopePage,
  scopePage,
} from './pages/apis/api-forms.ts';
import { apiPage } from './pages/apis/api-page.ts';
import { apisPage } from './pages/apis/apis-page.ts';
import { identityProviderPage, removeProviderPage } from './pages/organization/identity-provider-page.ts';
import { identityProvidersPage } from './pages/organization/identity-providers-page.ts';
import { editProviderPage, newProviderPage } from './pages/organization/provider-forms.ts';
import { deleteRolePage, newRolePage, rolesPage } from './pages/organization/roles-page.ts';
import { looksPage, looksStylePage, policyPage, settingsPage } from './pages/organization/settings-page.ts';
import type { ConsolePage, ConsolePageRow, Who } from './console-visit.ts';

const applications = ApplicationsService.method;
const resources = ResourcesService.method;
const roles = RolesService.method;
const state = DeclaredStateService.method;
const tenants = TenantsService.method;

type Methods = Exclude<Who, 'anyone'>['sees'];

const organization = '/o/:tenant';

/** A page of an organization. */
function row(
  path: string,
  title: string,
  page: ConsolePage,
  sees: Methods,
  does?: Methods,
  more: Pick<ConsolePageRow, 'needsFresh' | 'label'> = {},
): ConsolePageRow {
  const who = { sees, ...(does && { does }) };
  return { path: organization + path, title, who, formTarget: 'own', page, ...more };
}

/** What gives rights, or destroys. */
const grave = { needsFresh: true } as const;

const application = '/applications/:application';
const api = '/apis/:api';
const provider = '/providers/:provider';
const connects = [applications.create, applications.createSecret, tenants.get];
const seesApplication = [applications.get];
const seesApi = [resources.get];
const seesProvider = [tenants.get, state.get];

/** The pages with which an organization is set up. */
export const setupPageTable: readonly ConsolePageRow[] = [
  row('/applications', 'Applications', applicationsPage, [applications.list]),
  row('/new-application', 'What do you want to connect?', kindsPage, [resources.list], connects, {
    label: 'Create an application',
  }),
  row(
    '/new-application/:kind',
    'Create an application',
    newApplicationPage,
    [resources.list],
    connects,
    grave,
  ),
  row(application, 'Application', applicationPage, [applications.get, applications.listSecrets, tenants.get]),
  row(
    `${application}/edit`,
    'Edit this application',
    editApplicationPage,
    [applications.get, resources.list],
    [applications.update],
    grave,
  ),
  row(`${application}/words`, 'What people read of this application', applicationWordsPage, seesApplication, [
    applications.update,
  ]),
  row(
    `${application}/secret`,
    'Make a new secret?',
    newSecretPage,
    seesApplication,
    [applications.createSecret],
    grave,
  ),
  row(
    `${application}/secrets/:secret`,
    'Remove this secret?',
    removeSecretPage,
    seesApplication,
    [applications.deleteSecret],
    grave,
  ),
  row(
    `${application}/disable`,
    'Disable this application?',
    disableApplicationPage,
    [applications.get, applications.update],
    [applications.update],
    grave,
  ),
  row(
    `${application}/enable`,
    'Enable this application?',
    enableApplicationPage,
    seesApplication,
    [applications.update],
    grave,
  ),
  row(
    `${application}/delete`,
    'Delete this application?',
    deleteApplicationPage,
    [applications.get, applications.delete],
    [applications.delete],
    grave,
  ),
  row('/deleted-applications', 'Deleted applications', deletedApplicationsPage, [applications.listDeleted]),
  row(
    '/deleted-applications/:application/restore',
    'Restore this application?',
    restoreApplicationPage,
    [applications.undelete],
    [applications.undelete],
    grave,
  ),
  row('/apis', 'APIs', apisPage, [resources.list]),
  row('/new-api', 'Create an API', newApiPage, [resources.list], [resources.create]),
  row(api, 'API', apiPage, [resources.get, applications.list]),
  row(`${api}/edit`, 'Edit this API', editApiPage, seesApi, [resources.update]),
  row(`${api}/new-scope`, 'Add a scope', newScopePage, seesApi, [resources.update]),
  row(`${api}/scopes/:scope`, 'What people read of this scope', scopePage, seesApi, [resources.update]),
  row(
    `${api}/scopes/:scope/remove`,
    'Remove this scope?',
    removeScopePage,
    [resources.get, resources.update],
    [resources.update],
    grave,
  ),
  row(
    `${api}/delete`,
    'Delete this API?',
    deleteApiPage,
    [resources.get, resources.delete],
    [resources.delete],
    grave,
  ),
  row('/roles', 'Roles', rolesPage, [roles.list]),
  row('/new-role', 'Create a role', newRolePage, [roles.list], [roles.create]),
  row('/roles/:role/delete', 'Delete this role?', deleteRolePage, [roles.get], [roles.delete], grave),
  row('/providers', 'Sign-in providers', identityProvidersPage, seesProvider),
  row('/new-provider', 'Set up a provider', newProviderPage, seesProvider, [state.apply], grave),
  row(
    provider,
    'Sign-in provider',
    identityProviderPage,
    [...seesProvider, AuditService.method.search],
    [state.diff],
  ),
  row(`${provider}/edit`, 'Edit this provider', editProviderPage, seesProvider, [state.apply], grave),
  row(
    `${provider}/remove`,
    'Remove this provider?',
    removeProviderPage,
    [...seesProvider, state.diff],
    [state.apply],
    grave,
  ),
  row('/settings', 'Settings', settingsPage, [tenants.get]),
  row('/settings/looks', 'Change the looks', looksPage, [tenants.get], [tenants.update]),
  row('/settings/policy', 'Change what sign-ins need', policyPage, [tenants.get], [tenants.update], grave),
  { path: '/looks.css', title: 'Looks', who: 'anyone', formTarget: 'own', page: looksStylePage },
];
