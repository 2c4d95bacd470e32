import { useState } from 'react';
import { isUuid } from '../api/uuid.js';
import { ChoiceList } from '../ui/choice-list.js';
import { Chooser, type ChooserProps } from '../ui/chooser.js';
import { TextField } from '../ui/field.js';
import { ErrorMessage } from '../ui/states.js';
import { type ChoiceKind, useChoices, useChoicesById, useMayChoose } from './choices.js';

interface PickerProps extends ChooserProps {
  readonly kind: ChoiceKind;
  /** An id; empty for none. */
  readonly value: string;
  readonly onChange: (id: string) => void;
  /** What the field says while nothing is chosen, such as "Any connection". Also the choice that clears it. */
  readonly emptyLabel: string;
}

/**
 * A choice of one among many that the service searches: a connection, an agent, a key, a person. Callers who cannot
 * list them type the id.
 */
export function PickerField(props: PickerProps) {
  return useMayChoose(props.kind) ? <Picker {...props} /> : <TypedId {...props} />;
}

function Picker({ kind, value, onChange, emptyLabel, ...field }: PickerProps) {
  const chosen = useChoicesById(kind, value === '' ? [] : [value]).get(value);
  return (
    <Chooser {...field} words={value === '' ? emptyLabel : (chosen?.label ?? value)} onChoose={onChange}>
      {(choose) => <Choices kind={kind} label={field.label} emptyLabel={emptyLabel} onChoose={choose} />}
    </Chooser>
  );
}

/** Half an id is none. */
function TypedId({ label, hint, path, className, value, onChange, emptyLabel }: PickerProps) {
  const [text, setText] = useState(value);
  const change = (typed: string): void => {
    setText(typed);
    const id = isUuid(typed.trim()) ? typed.trim() : '';
    if (id !== value) onChange(id);
  };
  return (
    <TextField
      label={label}
      hint={hint}
      path={path}
      className={className}
      placeholder={`${emptyLabel}, or an ID`}
      // What is chosen elsewhere, such as by a link.
      value={isUuid(value) ? value : text}
      onChange={change}
    />
  );
}

function Choices({
  kind,
  label,
  emptyLabel,
  onChoose,
}: {
  readonly kind: ChoiceKind;
  readonly label: string;
  readonly emptyLabel: string;
  readonly onChoose: (id: string) => void;
}) {
  const [text, setText] = useState('');
  const { query, choices, totalCount = 0 } = useChoices(kind, text, true);
  const none = text === '' ? [{ id: '', label: emptyLabel }] : [];
  return (
    <>
      <ChoiceList label={label} text={text} onText={setText} choices={[...none, ...choices]} onChoose={onChoose}>
        {query.isPending && 'Searching…'}
        {query.isSuccess && choices.length === 0 && 'Nothing found.'}
        {totalCount > choices.length && `${totalCount - choices.length} more: type a part of the name.`}
      </ChoiceList>
      <ErrorMessage error={query.error} />
    </>
  );
}
