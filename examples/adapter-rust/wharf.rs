// SPDX-License-Identifier: Apache-2.0
// wharf/adapter.h, ABI 1.2, for Rust: written by hand after the header, whose comments say what everything means.
// What an adapter may leave out is an Option or may be null. Structs that an adapter fills begin with their NONE, since
// they grow: Kind { group: ..., ..Kind::NONE }.
#![allow(dead_code)]

use std::mem::size_of;
use std::os::raw::{c_char, c_double, c_int, c_void};
use std::ptr::null;

pub const ABI_MAJOR: u32 = 1;

/// Only the functions of Host look inside.
#[repr(C)]
pub struct Value {
    _opaque: [u8; 0],
}

pub type Text = *const c_char;
pub type Type = u32;
pub type Outcome = u32;
pub type PhaseKind = u32;
pub type MirrorState = u32;
pub type LogLevel = u32;

pub const OK: Outcome = 0;
pub const RETRY: Outcome = 1;
pub const REFUSED: Outcome = 2;

pub const MIRROR_NONE: MirrorState = 0;
pub const MIRROR_PRESENT: MirrorState = 1;
pub const MIRROR_LOST: MirrorState = 2;

pub const PENDING: PhaseKind = 0;
pub const SUSPENDED: PhaseKind = 1;
pub const ACTIVE: PhaseKind = 2;
pub const SUCCEEDED: PhaseKind = 3;
pub const FAILED: PhaseKind = 4;

pub const CARRY_ALWAYS: u32 = 0;
pub const CARRY_WHILE_SUSPENDED: u32 = 1;

pub const RULE_WHILE_SUSPENDED: u32 = 1;
pub const RULE_EXISTS: u32 = 2;
pub const RULE_AND: u32 = 4;

pub const PODS_ARE_SPECS: u32 = 1;

pub const REFERENCE_CLUSTER_SCOPED: u32 = 1;
pub const REFERENCE_MADE: u32 = 2;
pub const REFERENCE_KIND_DEFAULT: u32 = 4;
pub const REFERENCE_OPTIONAL: u32 = 8;
pub const REFERENCE_PODS: u32 = 16;
pub const REFERENCE_POD_SPECS: u32 = 32;
pub const REFERENCE_CONTAINERS: u32 = 64;
pub const REFERENCE_VOLUMES: u32 = 128;

pub const ABSENT: Type = 0;
pub const BOOL: Type = 2;
pub const NUMBER: Type = 3;
pub const STRING: Type = 4;

pub const SET_CONDITION: u32 = 0;
pub const SET_TEXT: u32 = 1;
pub const SET_ZERO: u32 = 2;
pub const REMOVE: u32 = 3;

pub const ALWAYS: u32 = 0;
pub const IF_TRUE: u32 = 1;
pub const IF_ABSENT: u32 = 2;

pub const KIND_NO_STATUS_SUBRESOURCE: u32 = 1;
pub const KIND_NEVER_FINISHES: u32 = 2;

#[repr(C)]
pub struct Answer {
    pub size: usize,
    pub reason: Text,
    pub message: Text,
    pub retry_after_ms: u32,
}

#[repr(C)]
pub struct Call {
    pub size: usize,
    pub kind: *const Kind,
    pub now: Text,
    pub now_ns: i64,
    pub cluster: Text,
    pub attempt: u32,
    pub version: Text,
    pub answer: *mut Answer,
    pub host_data: *mut c_void,
    pub mirror_state: MirrorState,
}

#[repr(C)]
pub struct Host {
    pub size: usize,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub version: Text,
    pub type_: unsafe extern "C" fn(*const Value) -> Type,
    pub find: unsafe extern "C" fn(*const Value, Text) -> *const Value,
    pub find_where: unsafe extern "C" fn(*const Value, Text, Text, Text) -> *const Value,
    pub is: unsafe extern "C" fn(*const Value, Text, Text) -> c_int,
    pub string: unsafe extern "C" fn(*const Value) -> Text,
    pub boolean: unsafe extern "C" fn(*const Value, c_int) -> c_int,
    pub integer: unsafe extern "C" fn(*const Value, i64) -> i64,
    pub number: unsafe extern "C" fn(*const Value, c_double) -> c_double,
    pub count: unsafe extern "C" fn(*const Value) -> usize,
    pub first: unsafe extern "C" fn(*const Value) -> *const Value,
    pub next: unsafe extern "C" fn(*const Value) -> *const Value,
    pub name: unsafe extern "C" fn(*const Value) -> Text,
    pub equal: unsafe extern "C" fn(*const Value, *const Value) -> c_int,
    pub condition: unsafe extern "C" fn(*const Value, Text, Text) -> *const Value,
    pub parse_time: unsafe extern "C" fn(Text, *mut i64) -> c_int,
    pub new_null: unsafe extern "C" fn(*const Call) -> *mut Value,
    pub new_boolean: unsafe extern "C" fn(*const Call, c_int) -> *mut Value,
    pub new_integer: unsafe extern "C" fn(*const Call, i64) -> *mut Value,
    pub new_string: unsafe extern "C" fn(*const Call, Text) -> *mut Value,
    pub new_array: unsafe extern "C" fn(*const Call) -> *mut Value,
    pub new_object: unsafe extern "C" fn(*const Call) -> *mut Value,
    pub copy: unsafe extern "C" fn(*const Call, *const Value) -> *mut Value,
    pub parse: unsafe extern "C" fn(*const Call, Text, usize) -> *mut Value,
    pub print: unsafe extern "C" fn(*const Call, *const Value, *mut usize) -> Text,
    pub format: unsafe extern "C" fn(*const Call, Text, ...) -> Text,
    pub format_time: unsafe extern "C" fn(*const Call, i64) -> Text,
    pub memory: unsafe extern "C" fn(*const Call, usize) -> *mut c_void,
    pub set: unsafe extern "C" fn(*const Call, *mut Value, Text, *const Value),
    pub set_string: unsafe extern "C" fn(*const Call, *mut Value, Text, Text),
    pub set_integer: unsafe extern "C" fn(*const Call, *mut Value, Text, i64),
    pub set_boolean: unsafe extern "C" fn(*const Call, *mut Value, Text, c_int),
    pub remove: unsafe extern "C" fn(*const Call, *mut Value, Text) -> usize,
    pub take: unsafe extern "C" fn(*const Call, *mut Value, *const Value, Text),
    pub edit: unsafe extern "C" fn(*const Call, *mut Value, Text) -> *mut Value,
    pub set_condition: unsafe extern "C" fn(*const Call, *mut Value, Text, Text, Text, Text) -> *mut Value,
    pub log: unsafe extern "C" fn(*const Call, LogLevel, Text),
}

#[repr(C)]
pub struct Phase {
    pub size: usize,
    pub phase: PhaseKind,
    pub reason: Text,
    pub message: Text,
    pub since_ns: i64,
    pub not_started: u32,
}

#[repr(C)]
pub struct Carried {
    pub pointer: Text,
    pub key: Text,
    pub when: u32,
}

impl Carried {
    pub const NONE: Carried = Carried { pointer: null(), key: null(), when: CARRY_ALWAYS };
}

#[repr(C)]
pub struct Pods {
    pub templates: Text,
    pub counts: *const Text,
    pub fallback: Text,
    pub offset: i32,
    pub flags: u32,
}

impl Pods {
    pub const NONE: Pods = Pods { templates: null(), counts: null(), fallback: null(), offset: 0, flags: 0 };
}

#[repr(C)]
pub struct PhaseRule {
    pub pointer: Text,
    pub value: Text,
    pub status: Text,
    pub reason: Text,
    pub phase: PhaseKind,
    pub flags: u32,
    pub values: *const Text,
    pub key: Text,
}

impl PhaseRule {
    pub const NONE: PhaseRule = PhaseRule {
        pointer: null(),
        value: null(),
        status: null(),
        reason: null(),
        phase: PENDING,
        flags: 0,
        values: null(),
        key: null(),
    };
}

#[repr(C)]
pub struct StatusChange {
    pub change: u32,
    pub when: u32,
    pub name: Text,
    pub value: Text,
    pub reason: Text,
    pub message: Text,
}

impl StatusChange {
    pub const NONE: StatusChange = StatusChange {
        change: SET_CONDITION,
        when: ALWAYS,
        name: null(),
        value: null(),
        reason: null(),
        message: null(),
    };
}

#[repr(C)]
pub struct Reference {
    pub name: Text,
    pub of: Text,
    pub group: Text,
    pub version: Text,
    pub resource: Text,
    pub kind: Text,
    pub kind_at: Text,
    pub namespace: Text,
    pub optional: Text,
    pub flags: u32,
}

impl Reference {
    pub const NONE: Reference = Reference {
        name: null(),
        of: null(),
        group: null(),
        version: null(),
        resource: null(),
        kind: null(),
        kind_at: null(),
        namespace: null(),
        optional: null(),
        flags: 0,
    };
}

#[repr(C)]
pub struct Child {
    pub group: Text,
    pub version: Text,
    pub plural: Text,
    pub label: Text,
}

impl Child {
    pub const NONE: Child = Child { group: null(), version: null(), plural: null(), label: null() };
}

#[repr(C)]
pub struct Continuity {
    pub pointer: Text,
    pub name: Text,
}

impl Continuity {
    pub const NONE: Continuity = Continuity { pointer: null(), name: null() };
}

#[repr(C)]
pub struct Kind {
    pub size: usize,
    pub carried_size: u32,
    pub pods_size: u32,
    pub phase_rule_size: u32,
    pub status_change_size: u32,
    pub group: Text,
    pub versions: *const Text,
    pub kind: Text,
    pub plural: Text,
    pub flags: u32,
    pub managed_by: Text,
    pub managed_by_builtin: Text,
    pub managed_by_allowed: *const Text,
    pub managed_by_default: Text,
    pub suspend: Text,
    pub suspend_value: Text,
    pub carried: *const Carried,
    pub removed: *const Text,
    pub pods: *const Pods,
    pub status_removed: *const Text,
    pub observed_generation: Text,
    pub condition_time: Text,
    pub suspended_status: *const StatusChange,
    pub resumed_status: *const StatusChange,
    pub phases: *const PhaseRule,
    pub finished_at: Text,
    pub phase: Option<unsafe extern "C" fn(*const Call, *const Value, *mut Phase) -> Outcome>,
    pub accept: Option<unsafe extern "C" fn(*const Call, *const Value) -> Outcome>,
    pub mirror: Option<unsafe extern "C" fn(*const Call, *const Value, *mut Value) -> Outcome>,
    pub update: Option<unsafe extern "C" fn(*const Call, *const Value, *const Value, *mut Value) -> Outcome>,
    pub status: Option<unsafe extern "C" fn(*const Call, *const Value, *const Value, *mut Value) -> Outcome>,
    pub pod_sets: Option<unsafe extern "C" fn(*const Call, *const Value, *mut Value) -> Outcome>,
    pub gave_up_status: *const StatusChange,
    pub suspend_values: *const Text,
    pub refused: Text,
    pub suspend_type: Type,
    pub reference_size: u32,
    pub references: *const Reference,
    pub dependencies: Option<unsafe extern "C" fn(*const Call, *const Value, *mut Value) -> Outcome>,
    pub progress: Option<unsafe extern "C" fn(*const Call, *const Value, *const Value, *mut Value) -> Outcome>,
    pub child_size: u32,
    pub continuity_size: u32,
    pub children: *const Child,
    pub child_progress: Option<unsafe extern "C" fn(*const Call, *const Value, *const Value, *mut Value) -> Outcome>,
    pub continuity: *const Continuity,
}

impl Kind {
    pub const NONE: Kind = Kind {
        size: size_of::<Kind>(),
        carried_size: size_of::<Carried>() as u32,
        pods_size: size_of::<Pods>() as u32,
        phase_rule_size: size_of::<PhaseRule>() as u32,
        status_change_size: size_of::<StatusChange>() as u32,
        group: null(),
        versions: null(),
        kind: null(),
        plural: null(),
        flags: 0,
        managed_by: null(),
        managed_by_builtin: null(),
        managed_by_allowed: null(),
        managed_by_default: null(),
        suspend: null(),
        suspend_value: null(),
        carried: null(),
        removed: null(),
        pods: null(),
        status_removed: null(),
        observed_generation: null(),
        condition_time: null(),
        suspended_status: null(),
        resumed_status: null(),
        phases: null(),
        finished_at: null(),
        phase: None,
        accept: None,
        mirror: None,
        update: None,
        status: None,
        pod_sets: None,
        gave_up_status: null(),
        suspend_values: null(),
        refused: null(),
        suspend_type: ABSENT,
        reference_size: size_of::<Reference>() as u32,
        references: null(),
        dependencies: None,
        progress: None,
        child_size: size_of::<Child>() as u32,
        continuity_size: size_of::<Continuity>() as u32,
        children: null(),
        child_progress: None,
        continuity: null(),
    };
}

#[repr(C)]
pub struct Module {
    pub size: usize,
    pub abi_major: u32,
    pub abi_minor: u32,
    pub name: Text,
    pub version: Text,
    pub kinds: *const *const Kind,
    pub host: *mut *const Host,
    pub settings: *const Text,
    pub start: Option<unsafe extern "C" fn(*const Host, *const Value, *mut *const *const Kind) -> Text>,
    pub score: Option<unsafe extern "C" fn(*const Call, *const Value, *const Value, *const Value, *mut Value) -> Outcome>,
}

// As tests of the header have them, where pointers have 64 bits.
#[cfg(target_pointer_width = "64")]
const _: () = assert!(
    size_of::<Answer>() == 32
        && size_of::<Call>() == 80
        && size_of::<Host>() == 312
        && size_of::<Phase>() == 48
        && size_of::<Carried>() == 24
        && size_of::<Pods>() == 32
        && size_of::<PhaseRule>() == 56
        && size_of::<StatusChange>() == 40
        && size_of::<Reference>() == 80
        && size_of::<Child>() == 32
        && size_of::<Continuity>() == 16
        && size_of::<Kind>() == 328
        && size_of::<Module>() == 72
);

/// Data that holds pointers. It never changes, so all threads may read it.
#[repr(transparent)]
pub struct Shared<T>(pub T);
unsafe impl<T> Sync for Shared<T> {}

/// A C string that lives as long as the process.
#[macro_export]
macro_rules! text {
    ($text:expr) => {
        concat!($text, "\0").as_ptr() as $crate::wharf::Text
    };
}
