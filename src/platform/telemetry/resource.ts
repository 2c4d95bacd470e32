import {
  defaultResource,
  detectResources,
  envDetector,
  type Resource,
  resourceFromAttributes,
  serviceInstanceIdDetector,
} from '@opentelemetry/resources';
import { version } from '../../core/version.js';
import { SCOPE_NAME } from './names.js';

/**
 * The source of the telemetry: the service's name and version, this process, and the attributes from
 * `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`.
 */
export function serviceResource(): Resource {
  return defaultResource()
    .merge(resourceFromAttributes({ 'service.name': SCOPE_NAME, 'service.version': version }))
    .merge(detectResources({ detectors: [serviceInstanceIdDetector, envDetector] }));
}
