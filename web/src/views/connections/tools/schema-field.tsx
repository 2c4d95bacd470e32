import { Plus, X } from 'lucide-react';
import { type JsonSchema, describeType, resolveSchema } from '../../../api/json-schema.js';
import { Button } from '../../../ui/button.js';
import { CheckboxField, SelectField, TextAreaField, TextField } from '../../../ui/field.js';
import { controlOf, type Draft, type DraftErrors, draftOf, pathTo } from './draft-value.js';

interface SchemaFieldProps {
  readonly label: string;
  /** A resolved schema. */
  readonly schema: JsonSchema;
  /** The document that it is a part of. */
  readonly root: JsonSchema;
  readonly isRequired: boolean;
  readonly draft: Draft;
  readonly onChange: (draft: Draft) => void;
  readonly errors: DraftErrors;
  readonly path: string;
  readonly depth: number;
}

/** The control for one value of a schema: a text, a number, a checkbox, a choice, a group, a list, or JSON. */
function SchemaField(props: SchemaFieldProps) {
  const { label, schema, root, isRequired, draft, onChange, errors, path, depth } = props;
  const common = {
    label: isRequired ? label : `${label} (optional)`,
    hint: schema.description,
    error: errors.get(path),
  };
  const text = typeof draft === 'string' ? draft : '';
  switch (controlOf(schema, depth)) {
    case 'boolean':
      return <CheckboxField label={common.label} hint={common.hint} checked={draft === true} onChange={onChange} />;
    case 'choice':
      return (
        <SelectField
          {...common}
          value={text}
          onChange={onChange}
          options={[
            { value: '', label: isRequired ? 'Choose…' : 'Not set' },
            ...(schema.enum ?? []).map((value) => ({ value: JSON.stringify(value), label: String(value) })),
          ]}
        />
      );
    case 'number':
    case 'integer':
      return <TextField {...common} inputMode="decimal" autoComplete="off" value={text} onChange={onChange} />;
    case 'object':
      return <MemberFields {...props} />;
    case 'array':
      return <ItemFields {...props} />;
    case 'json':
      return (
        <TextAreaField
          {...common}
          label={`${common.label}, as JSON`}
          hint={common.hint ?? `JSON: ${describeType(schema, root)}`}
          isCode
          rows={3}
          value={text}
          onChange={onChange}
        />
      );
    default:
      return <TextField {...common} autoComplete="off" value={text} onChange={onChange} />;
  }
}

/** The members of an object. */
export function MemberFields({
  label,
  schema,
  root,
  draft,
  onChange,
  errors,
  path,
  depth,
  isRequired,
}: SchemaFieldProps) {
  const members = typeof draft === 'object' && !Array.isArray(draft) ? (draft as Record<string, Draft>) : {};
  const required = new Set(schema.required);
  const fields = Object.entries(schema.properties ?? {}).map(([name, property]) => (
    <SchemaField
      key={name}
      label={name}
      schema={resolveSchema(property, root)}
      root={root}
      isRequired={required.has(name)}
      draft={members[name]}
      onChange={(changed) => onChange({ ...members, [name]: changed })}
      errors={errors}
      path={pathTo(path, name)}
      depth={depth + 1}
    />
  ));
  if (depth === 0) return <>{fields}</>;
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 rounded-md border p-3">
      <legend className="px-1 text-sm font-medium">{isRequired ? label : `${label} (optional)`}</legend>
      {schema.description && <p className="text-[0.8125rem] text-muted-foreground">{schema.description}</p>}
      {fields}
    </fieldset>
  );
}

function ItemFields({ label, schema, root, draft, onChange, errors, path, depth, isRequired }: SchemaFieldProps) {
  const items = Array.isArray(draft) ? (draft as readonly Draft[]) : [];
  const item = resolveSchema(schema.items, root);
  return (
    <fieldset className="flex min-w-0 flex-col gap-3 rounded-md border p-3">
      <legend className="px-1 text-sm font-medium">{isRequired ? label : `${label} (optional)`}</legend>
      {schema.description && <p className="text-[0.8125rem] text-muted-foreground">{schema.description}</p>}
      {items.map((each, index) => (
        <div key={index} className="flex items-start gap-2">
          <div className="flex min-w-0 flex-1 flex-col gap-3">
            <SchemaField
              label={`${label} ${index + 1}`}
              schema={item}
              root={root}
              isRequired
              draft={each}
              onChange={(changed) => onChange(items.with(index, changed))}
              errors={errors}
              path={pathTo(path, index)}
              depth={depth + 1}
            />
          </div>
          <Button
            variant="ghost"
            size="icon"
            aria-label={`Remove ${label} ${index + 1}`}
            onClick={() => onChange(items.toSpliced(index, 1))}
          >
            <X aria-hidden className="size-4" />
          </Button>
        </div>
      ))}
      <div>
        <Button
          variant="secondary"
          size="small"
          onClick={() => onChange([...items, draftOf(item, root, undefined, depth + 1)])}
        >
          <Plus aria-hidden className="size-3.5" /> Add to {label}
        </Button>
      </div>
    </fieldset>
  );
}
