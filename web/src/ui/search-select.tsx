import { useState } from 'react';
import { ChoiceList } from './choice-list.js';
import { Chooser, type ChooserProps } from './chooser.js';

const SHOWN = 50;

/** A choice of one among many words that the browser knows, such as time zones: found by parts, shown with spaces. */
export function SearchSelect({
  value,
  options,
  onChange,
  ...field
}: ChooserProps & {
  readonly value: string;
  readonly options: readonly string[];
  readonly onChange: (value: string) => void;
}) {
  return (
    <Chooser {...field} words={value.replaceAll('_', ' ')} onChoose={onChange}>
      {(choose) => <Options label={field.label} options={options} onChoose={choose} />}
    </Chooser>
  );
}

function Options({
  label,
  options,
  onChoose,
}: {
  readonly label: string;
  readonly options: readonly string[];
  readonly onChoose: (value: string) => void;
}) {
  const [text, setText] = useState('');
  const words = wordsOf(text);
  const found = options.filter((option) => words.every((word) => wordsOf(option).join(' ').includes(word)));
  const choices = found.slice(0, SHOWN).map((option) => ({ id: option, label: option.replaceAll('_', ' ') }));
  return (
    <ChoiceList label={label} text={text} onText={setText} choices={choices} onChoose={onChoose}>
      {found.length === 0 && 'Nothing found.'}
      {found.length > SHOWN && `${found.length - SHOWN} more: type a part of the name.`}
    </ChoiceList>
  );
}

/** `America/New_York` has the words `america`, `new` and `york`. */
function wordsOf(text: string): readonly string[] {
  return text
    .toLowerCase()
    .split(/[\s/_]+/)
    .filter(Boolean);
}
