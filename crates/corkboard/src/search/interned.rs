//! Values by name, each under a small number that is used again when the value is gone.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

pub(super) struct Interned<T> {
    numbers: HashMap<Arc<str>, u32, RandomState>,
    values: Vec<(Arc<str>, T)>,
    free: Vec<u32>,
}

impl<T> Default for Interned<T> {
    fn default() -> Self {
        Self { numbers: HashMap::default(), values: Vec::new(), free: Vec::new() }
    }
}

impl<T: Default> Interned<T> {
    /// The number of a name. A new name gets the value that `make` returns.
    pub(super) fn number(&mut self, name: &str, make: impl FnOnce() -> T) -> u32 {
        if let Some(number) = self.numbers.get(name) {
            return *number;
        }
        let shared: Arc<str> = name.into();
        let value = (shared.clone(), make());
        let number = match self.free.pop() {
            Some(number) => {
                if let Some(free) = self.values.get_mut(number as usize) {
                    *free = value;
                }
                number
            }
            None => {
                self.values.push(value);
                self.values.len() as u32 - 1
            }
        };
        self.numbers.insert(shared, number);
        number
    }

    pub(super) fn find(&self, name: &str) -> Option<u32> {
        self.numbers.get(name).copied()
    }

    pub(super) fn get(&self, number: u32) -> Option<&T> {
        self.values.get(number as usize).map(|(_, value)| value)
    }

    pub(super) fn get_mut(&mut self, number: u32) -> Option<&mut T> {
        self.values.get_mut(number as usize).map(|(_, value)| value)
    }

    pub(super) fn name(&self, number: u32) -> &str {
        self.values.get(number as usize).map_or("", |(name, _)| name)
    }

    /// Removes a value; its number becomes free.
    pub(super) fn remove(&mut self, number: u32) {
        if let Some(removed) = self.values.get_mut(number as usize) {
            let (name, _) = std::mem::take(removed);
            self.numbers.remove(&name);
            self.free.push(number);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.numbers.len()
    }

    /// One more than the largest number in use.
    pub(super) fn bound(&self) -> usize {
        self.values.len()
    }

    /// All values with their numbers, free places included.
    pub(super) fn iter(&self) -> impl Iterator<Item = (u32, &str, &T)> {
        (0..).zip(&self.values).map(|(number, (name, value))| (number, &**name, value))
    }
}
