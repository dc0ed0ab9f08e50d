//! Synthetic records of four hospitals, for the tutorial. They describe no real person.
//!
//! A record is a stay: what is known about the patient on the first day, and how many days they
//! stayed. The severity of the illness, s, is in no column. It is normal with mean 0.4 after an
//! emergency and 0 otherwise, and affects all laboratory values. With an independent normal number
//! z each time,
//!
//! | column | is |
//! |---|---|
//! | `age` | years, normal around the hospital's mean, from 18 to 99 (0 to 17 for children) |
//! | `emergency` | 1 with the hospital's share, else 0 |
//! | `crp` | C-reactive protein in mg/l: e^(2.9 + 0.65 s + 0.5 z), at most 400 |
//! | `hemoglobin` | g/dl: 14.2 − 0.012 (age − 40) − 0.6 s + 0.9 z |
//! | `creatinine` | mg/dl: 0.75 + 0.006 age + 0.14 s + 0.15 z; for children 0.3 less |
//! | `blood_pressure` | systolic, mmHg: 112 + 0.35 age − 4 s + 14 z |
//! | `diagnoses` | the number of other diagnoses: 1 + 0.03 age + 0.8 s + z, at least 0 |
//! | `days` | start + 0.025 age + wait·emergency + 1.1 s + 0.012 crp + 0.35 diagnoses + 0.9 z, 0.1 to 30 |
//!
//! The hospitals differ in their patients, and in their habits `start` and `wait`. The county
//! hospital's patients are like those of the city hospital, where emergencies stay longer. The
//! coast takes few emergencies. Children differ in everything.

use std::fmt::Write as _;

use rand::rngs::ChaCha20Rng;
use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, StandardNormal};

/// The tables are the same in every copy of the program.
const SEED: u64 = 33;
const HEADER: &str = "age,emergency,crp,hemoglobin,creatinine,blood_pressure,diagnoses,days\n";

/// One of the synthetic hospitals.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Hospital {
    /// Name of the hospital and of its dataset.
    pub name: &'static str,
    /// Number of stays, one per row of the table.
    pub stays: usize,
    /// Mean and standard deviation.
    age: (f64, f64),
    children: bool,
    /// Share of all stays.
    emergencies: f64,
    start: f64,
    wait: f64,
}

/// The private one comes first.
pub const HOSPITALS: [Hospital; 4] = [
    Hospital::of("city", 2400, (61.0, 17.0), 0.55, (1.2, 3.4)),
    Hospital::of("county", 600, (63.0, 16.0), 0.5, (0.8, 2.3)),
    Hospital::of("coast", 600, (70.0, 12.0), 0.3, (0.6, 1.0)),
    Hospital { children: true, ..Hospital::of("children", 600, (8.0, 5.0), 0.35, (1.6, 0.6)) },
];

impl Hospital {
    const fn of(
        name: &'static str,
        stays: usize,
        age: (f64, f64),
        emergencies: f64,
        (start, wait): (f64, f64),
    ) -> Self {
        Self { name, stays, age, children: false, emergencies, start, wait }
    }

    /// Stays of the hospital as CSV, always the same.
    pub fn table(&self) -> String {
        let mut generator = ChaCha20Rng::seed_from_u64(SEED);
        // A stream for each name, so that the order of the hospitals does not matter.
        generator.set_stream(self.name.bytes().fold(0, |sum, byte| 256 * sum + u64::from(byte)));
        let mut text = HEADER.to_owned();
        for _ in 0..self.stays {
            self.add_stay(&mut generator, &mut text);
        }
        text
    }

    fn add_stay(&self, generator: &mut ChaCha20Rng, text: &mut String) {
        let mut normal = |mean: f64, deviation: f64| -> f64 {
            let z: f64 = StandardNormal.sample(generator);
            mean + deviation * z
        };
        let (youngest, oldest) = if self.children { (0.0, 17.0) } else { (18.0, 99.0) };
        let age = normal(self.age.0, self.age.1).round().clamp(youngest, oldest);
        let (illness, crp, hemoglobin) = (normal(0.0, 1.0), normal(2.9, 0.5), normal(14.2, 0.9));
        let (creatinine, pressure) = (normal(0.75, 0.15), normal(112.0, 14.0));
        let (diagnoses, days) = (normal(1.0, 1.0), normal(self.start, 0.9));
        let emergency = f64::from(generator.random_bool(self.emergencies));

        let illness = illness + 0.4 * emergency;
        let crp = (crp + 0.65 * illness).exp().min(400.0);
        let hemoglobin = (hemoglobin - 0.012 * (age - 40.0) - 0.6 * illness).clamp(5.0, 20.0);
        let less = if self.children { 0.3 } else { 0.0 };
        let creatinine = (creatinine + 0.006 * age + 0.14 * illness - less).clamp(0.2, 12.0);
        let pressure = (pressure + 0.35 * age - 4.0 * illness).clamp(60.0, 240.0);
        let diagnoses = (diagnoses + 0.03 * age + 0.8 * illness).round().max(0.0);
        let days = days
            + 0.025 * age
            + self.wait * emergency
            + 1.1 * illness
            + 0.012 * crp
            + 0.35 * diagnoses;
        let days = days.clamp(0.1, 30.0);
        // Writing to a text cannot fail.
        let _ = writeln!(
            text,
            "{age},{emergency},{crp:.1},{hemoglobin:.1},{creatinine:.2},{pressure:.0},{diagnoses},\
             {days:.1}"
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn columns(hospital: &Hospital) -> Vec<Vec<f64>> {
        let text = hospital.table();
        assert!(text.starts_with(HEADER));
        let rows: Vec<Vec<f64>> = text
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(|cell| cell.parse().unwrap()).collect())
            .collect();
        assert_eq!(rows.len(), hospital.stays);
        (0..8).map(|column| rows.iter().map(|row| row[column]).collect()).collect()
    }

    fn mean(column: &[f64]) -> f64 {
        column.iter().sum::<f64>() / column.len() as f64
    }

    #[test]
    fn stays_lie_within_what_a_hospital_sees_and_emergencies_are_as_often_as_said() {
        for hospital in &HOSPITALS {
            let columns = columns(hospital);
            let ranges = [
                (0.0, 99.0),
                (0.0, 1.0),
                (0.1, 400.0),
                (5.0, 20.0),
                (0.2, 12.0),
                (60.0, 240.0),
                (0.0, 20.0),
                (0.1, 30.0),
            ];
            for (column, (low, high)) in columns.iter().zip(ranges) {
                assert!(column.iter().all(|cell| (low..=high).contains(cell)), "{hospital:?}");
            }
            let emergencies = mean(&columns[1]);
            assert!((emergencies - hospital.emergencies).abs() < 0.06, "{emergencies}");
        }
        let days: Vec<f64> = HOSPITALS.iter().map(|it| mean(&columns(it)[7])).collect();
        assert!(days[0] > days[1] && days[1] > days[2] && days[2] > days[3], "{days:?}");
    }

    #[test]
    fn tables_are_the_same_each_time_and_hospitals_draw_apart() {
        let [city, county, ..] = &HOSPITALS;
        assert_eq!(city.table(), city.table());
        let ages = |hospital: &Hospital| columns(hospital)[0].clone();
        assert_ne!(ages(city)[..20], ages(county)[..20]);
    }
}
